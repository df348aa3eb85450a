import { Secret } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { countEvaluator } from "../../quota-evaluator.ts";
import { defaultSecret } from "./defaults.ts";
import { secretValidation } from "./validation.ts";

export const secret = defineKind(Secret, {
  defaults: defaultSecret,
  validation: secretValidation,
  quota: () => countEvaluator("", "secrets", "secrets"),
});
