import { ResourceClaim } from "../../../generated/resource/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultClaim, defaultOldClaim } from "./defaults.ts";
import { claimEvaluator } from "./quota.ts";
import { checkClaimStatus } from "./status.ts";
import { checkClaim, checkClaimUpdate } from "./validation.ts";

export const resourceClaim = defineKind(ResourceClaim, {
  defaults: defaultClaim,
  versionDefaults: { v1beta1: defaultOldClaim },
  validation: { create: checkClaim, update: checkClaimUpdate, status: checkClaimStatus },
  quota: claimEvaluator,
});
