import { Workload } from "@dray/api/scheduling/v1beta1";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const workload: ServedKind<Workload> = defineServedKind(Workload, {
  facts: { gate: "GenericWorkload" },
});
