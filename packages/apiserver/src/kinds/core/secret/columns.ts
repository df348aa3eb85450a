import type { Secret } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

export const secretColumns: Printer<Secret> = {
  columns: columns("Name", "Type", "Data", "Age"),
  cells: ({ metadata, type, data }, now) => [
    metadata.name,
    type ?? "",
    Object.keys(data ?? {}).length,
    ageText(metadata.creationTimestamp, now),
  ],
};
