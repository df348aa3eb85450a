import { LimitRange } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultLimitRange } from "./defaults.ts";
import { limitRangeValidation } from "./validation.ts";

export const limitRange = defineKind(LimitRange, {
  defaults: defaultLimitRange,
  validation: limitRangeValidation,
});
