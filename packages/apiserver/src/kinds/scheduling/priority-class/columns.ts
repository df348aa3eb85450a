import type { PriorityClass } from "@dray/api/scheduling/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, type Printer } from "../../../tables/column.ts";

export const priorityClassColumns: Printer<PriorityClass> = {
  columns: [
    column("Name"),
    column("Value", { type: "integer" }),
    column("Global-Default", { type: "boolean" }),
    ...columns("Age", "PreemptionPolicy"),
  ],
  cells: ({ metadata, value, globalDefault, preemptionPolicy }, now) => [
    metadata.name,
    value ?? 0,
    globalDefault ?? false,
    ageText(metadata.creationTimestamp, now),
    preemptionPolicy ?? "",
  ],
};
