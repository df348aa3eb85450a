import type { ResourceSlice } from "@dray/api/resource/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

export const resourceSliceColumns: Printer<ResourceSlice> = {
  columns: columns("Name", "Node", "Driver", "Pool", "Age"),
  cells: (slice, now) => [
    slice.metadata.name,
    slice.spec?.nodeName ?? "",
    slice.spec?.driver ?? "",
    slice.spec?.pool?.name ?? "",
    ageText(slice.metadata.creationTimestamp, now),
  ],
};
