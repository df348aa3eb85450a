import { ResourceQuota } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { countEvaluator } from "../../quota-evaluator.ts";
import { defaultResourceQuota } from "./defaults.ts";
import { resourceQuotaValidation } from "./validation.ts";

export const resourceQuota = defineKind(ResourceQuota, {
  defaults: defaultResourceQuota,
  validation: resourceQuotaValidation,
  quota: () => countEvaluator("", "resourcequotas", "resourcequotas"),
});
