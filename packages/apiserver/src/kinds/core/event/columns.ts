import type { Event } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, type Printer, wide } from "../../../tables/column.ts";

export const eventColumns: Printer<Event> = {
  columns: [
    ...columns("Last Seen", "Type", "Reason", "Object"),
    ...wide("Subobject", "Source"),
    column("Message"),
    ...wide("First Seen", "Count", "Name"),
  ],
  cells(event, now) {
    const object = event.involvedObject;
    const kind = (object?.kind ?? "").toLowerCase();
    const first = event.firstTimestamp || event.eventTime;
    const last = event.series?.lastObservedTime || event.lastTimestamp || first;
    const component = event.source?.component || event.reportingComponent || "";
    const instance = event.source?.host || event.reportingInstance || "";
    return [
      ageText(last, now),
      event.type ?? "",
      event.reason ?? "",
      object?.name ? `${kind}/${object.name}` : kind,
      object?.fieldPath ?? "",
      instance === "" ? component : `${component}, ${instance}`,
      (event.message ?? "").trim(),
      ageText(first, now),
      // An event that happened once has no count in the newer form.
      event.series ? (event.series.count ?? 0) : event.count || 1,
      event.metadata.name,
    ];
  },
};
