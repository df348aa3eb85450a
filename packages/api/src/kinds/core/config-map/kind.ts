import { ConfigMap } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { countEvaluator } from "../../quota-evaluator.ts";
import { configMapValidation } from "./validation.ts";

export const configMap = defineKind(ConfigMap, {
  validation: configMapValidation,
  quota: () => countEvaluator("", "configmaps", "configmaps"),
});
