import { PodGroup } from "../../../generated/scheduling/v1beta1.ts";
import { defineKind } from "../../define.ts";
import { podGroupValidation } from "./validation.ts";

export const podGroup = defineKind(PodGroup, {
  validation: podGroupValidation,
});
