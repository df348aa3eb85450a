import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, counts, type Printer } from "../../../tables/column.ts";

export const podDisruptionBudgetColumns: Printer<PodDisruptionBudget> = {
  columns: [
    ...columns("Name", "Min Available", "Max Unavailable"),
    ...counts("Allowed Disruptions"),
    column("Age"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    String(spec?.minAvailable ?? "N/A"),
    String(spec?.maxUnavailable ?? "N/A"),
    status?.disruptionsAllowed ?? 0,
    ageText(metadata.creationTimestamp, now),
  ],
};
