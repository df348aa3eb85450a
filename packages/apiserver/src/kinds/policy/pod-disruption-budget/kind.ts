import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { defineServedKind } from "../../define.ts";
import { podDisruptionBudgetColumns } from "./columns.ts";

export const podDisruptionBudget = defineServedKind(PodDisruptionBudget, {
  facts: { status: "keep", generation: true, needsVersion: true },
  columns: podDisruptionBudgetColumns,
});
