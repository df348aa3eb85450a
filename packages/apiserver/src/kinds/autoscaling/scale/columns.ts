import type { Scale } from "@dray/api/autoscaling/v1";
import { ageText } from "../../../tables/age.ts";
import { column, counts, type Printer } from "../../../tables/column.ts";

export const scaleColumns: Printer<Scale> = {
  columns: [{ ...column("Name"), format: "" }, ...counts("Desired", "Available"), column("Age")],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.replicas ?? 0,
    status?.replicas ?? 0,
    ageText(metadata.creationTimestamp, now),
  ],
};
