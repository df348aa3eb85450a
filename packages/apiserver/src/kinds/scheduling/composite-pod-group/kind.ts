import { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import { defineServedKind } from "../../define.ts";
import { compositePodGroupColumns } from "./columns.ts";

export const compositePodGroup = defineServedKind(CompositePodGroup, {
  facts: { gate: "CompositePodGroup", status: "reset", generation: true, needsVersion: true },
  columns: compositePodGroupColumns,
});
