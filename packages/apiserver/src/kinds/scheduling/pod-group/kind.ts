import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { podGroupColumns } from "./columns.ts";

export const podGroup: ServedKind<PodGroup> = defineServedKind(PodGroup, {
  facts: { gate: "GenericWorkload", status: "reset", generation: true },
  columns: podGroupColumns,
});
