import { HorizontalPodAutoscaler } from "../../../generated/autoscaling/v2.ts";
import { defineKind } from "../../define.ts";
import { defaultAutoscaler, defaultOldAutoscaler } from "./defaults.ts";
import { horizontalPodAutoscalerValidation } from "./validation.ts";

export const horizontalPodAutoscaler = defineKind(HorizontalPodAutoscaler, {
  defaults: defaultAutoscaler,
  validation: horizontalPodAutoscalerValidation,
  versionDefaults: { v1: defaultOldAutoscaler },
});
