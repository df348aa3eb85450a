/** Defaults of resource.k8s.io (KEP-4381, KEP-4816, KEP-5055). */
import type {
  DeviceSubRequest,
  DeviceTaint,
  DeviceTaintRule,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
  ResourceSlice,
} from "../generated/resource/v1.ts";
import type { ResourcePoolStatusRequest } from "../generated/resource/v1alpha3.ts";
import type {
  DeviceRequest as OldDeviceRequest,
  ResourceClaim as OldResourceClaim,
  ResourceClaimTemplate as OldResourceClaimTemplate,
  ResourceSlice as OldResourceSlice,
} from "../generated/resource/v1beta1.ts";
import type { Time } from "../objects/object.ts";

function defaultTolerations(tolerations: readonly DeviceToleration[] | undefined): void {
  for (const toleration of tolerations ?? []) toleration.operator ||= "Equal";
}

function defaultRequest(request: ExactDeviceRequest | DeviceSubRequest | OldDeviceRequest): void {
  request.allocationMode ||= "ExactCount";
  if (request.allocationMode === "ExactCount" && !request.count) request.count = 1;
  defaultTolerations(request.tolerations);
}

function defaultSpec(spec: ResourceClaimSpec | undefined): void {
  for (const request of spec?.devices?.requests ?? []) {
    if (request.exactly) defaultRequest(request.exactly);
    for (const alternative of request.firstAvailable ?? []) defaultRequest(alternative);
  }
}

function defaultResults({ status }: ResourceClaim | OldResourceClaim): void {
  for (const result of status?.allocation?.devices?.results ?? []) defaultTolerations(result.tolerations);
}

export function defaultClaim(claim: ResourceClaim): void {
  defaultSpec(claim.spec);
  defaultResults(claim);
}

export function defaultTemplate(template: ResourceClaimTemplate): void {
  defaultSpec(template.spec?.spec);
}

function stamp(taint: DeviceTaint | undefined, now: Time): void {
  if (taint) taint.timeAdded ??= now;
}

export function defaultSlice(slice: ResourceSlice, now: Time): void {
  for (const device of slice.spec?.devices ?? []) for (const taint of device.taints ?? []) stamp(taint, now);
}

export function defaultRule(rule: DeviceTaintRule, now: Time): void {
  stamp(rule.spec?.taint, now);
}

/** v1beta1 has the fields of `exactly` in the request itself; a request without a class should have none of them. */
function defaultOldSpec(spec: OldResourceClaim["spec"] | undefined): void {
  for (const request of spec?.devices?.requests ?? []) {
    if (request.deviceClassName) defaultRequest(request);
    else defaultTolerations(request.tolerations);
    for (const alternative of request.firstAvailable ?? []) defaultRequest(alternative);
  }
}

export function defaultOldClaim(claim: OldResourceClaim): void {
  defaultOldSpec(claim.spec);
  defaultResults(claim);
}

export function defaultOldTemplate(template: OldResourceClaimTemplate): void {
  defaultOldSpec(template.spec?.spec);
}

export function defaultOldSlice(slice: OldResourceSlice, now: Time): void {
  for (const device of slice.spec?.devices ?? []) {
    for (const taint of device.basic?.taints ?? []) stamp(taint, now);
  }
}

export function defaultPoolRequest({ spec }: ResourcePoolStatusRequest): void {
  if (spec) spec.limit ??= 100;
}
