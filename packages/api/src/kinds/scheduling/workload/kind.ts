import { Workload } from "../../../generated/scheduling/v1beta1.ts";
import { defineKind } from "../../define.ts";
import { workloadValidation } from "./validation.ts";

export const workload = defineKind(Workload, {
  validation: workloadValidation,
});
