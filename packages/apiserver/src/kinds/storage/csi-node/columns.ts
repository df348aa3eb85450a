import type { CSINode } from "@dray/api/storage/v1";
import { ageText } from "../../../tables/age.ts";
import { column, counts, type Printer } from "../../../tables/column.ts";

export const csiNodeColumns: Printer<CSINode> = {
  columns: [column("Name"), ...counts("Drivers"), column("Age")],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    (spec?.drivers ?? []).length,
    ageText(metadata.creationTimestamp, now),
  ],
};
