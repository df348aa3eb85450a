import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { defineServedKind } from "../../define.ts";
import { podGroupColumns } from "./columns.ts";

export const podGroup = defineServedKind(PodGroup, {
  facts: {
    gate: "GenericWorkload",
    status: "reset",
    generation: true,
    needsVersion: ["v1alpha3", "v1beta1"],
  },
  columns: podGroupColumns,
});
