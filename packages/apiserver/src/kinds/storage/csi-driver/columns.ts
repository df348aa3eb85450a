import type { CSIDriver } from "@dray/api/storage/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, none, type Printer } from "../../../tables/column.ts";
import { flag } from "../../core/volume-columns.ts";

export const csiDriverColumns: Printer<CSIDriver> = {
  columns: [
    column("Name"),
    ...["AttachRequired", "PodInfoOnMount", "StorageCapacity"].map(flag),
    column("TokenRequests"),
    flag("RequiresRepublish"),
    ...columns("Modes", "Age"),
  ],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.attachRequired ?? true,
    spec?.podInfoOnMount ?? false,
    spec?.storageCapacity ?? false,
    spec?.tokenRequests?.map(({ audience }) => audience).join(",") ?? "<unset>",
    spec?.requiresRepublish ?? false,
    (spec?.volumeLifecycleModes ?? []).join(",") || none,
    ageText(metadata.creationTimestamp, now),
  ],
};
