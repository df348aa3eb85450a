import type { RuntimeClass } from "@dray/api/node/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

export const runtimeClassColumns: Printer<RuntimeClass> = {
  columns: columns("Name", "Handler", "Age"),
  cells: ({ metadata, handler }, now) => [
    metadata.name,
    handler ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};
