/**
 * Bad values of the fields of resource.k8s.io/v1, by the rules of pkg/apis/resource/validation of Kubernetes
 * 1.37.
 */
import { deviceClassValues } from "./device-class.ts";
import { deviceTaintRuleValues } from "./device-taint-rule.ts";
import { resourceClaimValues } from "./resource-claim.ts";
import { resourceSliceValues } from "./resource-slice.ts";
import type { BadValue, Kind } from "./rows.ts";

export const badValues: Readonly<Record<Kind, readonly BadValue[]>> = {
  DeviceClass: deviceClassValues,
  DeviceTaintRule: deviceTaintRuleValues,
  ResourceClaim: resourceClaimValues,
  ResourceSlice: resourceSliceValues,
};
