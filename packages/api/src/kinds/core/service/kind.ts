import { statusAddressWarnings } from "../../../checks/warnings/addresses.ts";
import { Service } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultService } from "./defaults.ts";
import { serviceEvaluator } from "./quota.ts";
import { serviceValidation } from "./validation.ts";
import { serviceWarnings } from "./warnings.ts";

export const service = defineKind(Service, {
  defaults: defaultService,
  validation: serviceValidation,
  warnings: serviceWarnings,
  statusWarnings: statusAddressWarnings,
  quota: () => serviceEvaluator,
});
