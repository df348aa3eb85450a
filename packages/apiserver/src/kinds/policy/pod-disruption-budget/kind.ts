import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { podDisruptionBudgetColumns } from "./columns.ts";

export const podDisruptionBudget: ServedKind<PodDisruptionBudget> = defineServedKind(PodDisruptionBudget, {
  facts: { status: "keep", generation: true, needsVersion: true },
  columns: podDisruptionBudgetColumns,
});
