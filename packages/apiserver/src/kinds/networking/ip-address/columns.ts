import type { IPAddress } from "@dray/api/networking/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";

export const ipAddressColumns: Printer<IPAddress> = {
  // The age has a cell, and no column (as upstream).
  columns: columns("Name", "ParentRef"),
  cells({ metadata, spec }, now) {
    const { group, resource = "", namespace, name } = spec?.parentRef ?? {};
    const kind = (group ? `${resource}.${group}` : resource).toLowerCase();
    return [
      metadata.name,
      spec?.parentRef ? [kind, ...(namespace ? [namespace] : []), name ?? ""].join("/") : none,
      ageText(metadata.creationTimestamp, now),
    ];
  },
};
