import { Workload } from "@dray/api/scheduling/v1beta1";
import { defineServedKind } from "../../define.ts";

export const workload = defineServedKind(Workload, {
  facts: { gate: "GenericWorkload", needsVersion: ["v1alpha3", "v1beta1"] },
});
