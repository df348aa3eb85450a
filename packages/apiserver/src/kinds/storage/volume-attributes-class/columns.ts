import type { VolumeAttributesClass } from "@dray/api/storage/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

export const volumeAttributesClassColumns: Printer<VolumeAttributesClass> = {
  columns: columns("Name", "DriverName", "Age"),
  cells: ({ metadata, driverName }, now) => [
    metadata.name,
    driverName ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};
