import { NetworkPolicy } from "../../../generated/networking/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultNetworkPolicy } from "./defaults.ts";
import { networkPolicyValidation } from "./validation.ts";
import { policyAddressWarnings } from "./warnings.ts";

export const networkPolicy = defineKind(NetworkPolicy, {
  defaults: defaultNetworkPolicy,
  validation: networkPolicyValidation,
  warnings: policyAddressWarnings,
});
