import type { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";
import { policyOf, workloadOf } from "../columns.ts";

export const compositePodGroupColumns: Printer<CompositePodGroup> = {
  columns: columns("Name", "Policy", "Workload", "Age"),
  cells: (group, now) => [
    group.metadata.name,
    policyOf(group),
    workloadOf(group),
    ageText(group.metadata.creationTimestamp, now),
  ],
};
