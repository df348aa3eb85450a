/** KEP-4381, KEP-4816 */
import type {
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
} from "../../../generated/resource/v1.ts";
import type {
  DeviceRequest as OldDeviceRequest,
  ResourceClaim as OldResourceClaim,
} from "../../../generated/resource/v1beta1.ts";
import type { Wire } from "../../../objects/wire.ts";

function defaultRequest(
  request: Wire<ExactDeviceRequest> | Wire<DeviceSubRequest> | Wire<OldDeviceRequest>,
): void {
  request.allocationMode ||= "ExactCount";
  if (request.allocationMode === "ExactCount" && !request.count) request.count = 1;
}

export function defaultSpec(spec: Wire<ResourceClaimSpec> | null | undefined): void {
  for (const request of spec?.devices?.requests ?? []) {
    if (request.exactly) defaultRequest(request.exactly);
    for (const alternative of request.firstAvailable ?? []) defaultRequest(alternative);
  }
}

export function defaultClaim(claim: Wire<ResourceClaim>): void {
  defaultSpec(claim.spec);
}

/**
 * v1beta1 has the fields of `exactly` in the request itself; a request without a class should have none of
 * them.
 */
export function defaultOldSpec(spec: Wire<OldResourceClaim>["spec"] | null | undefined): void {
  for (const request of spec?.devices?.requests ?? []) {
    if (request.deviceClassName) defaultRequest(request);
    for (const alternative of request.firstAvailable ?? []) defaultRequest(alternative);
  }
}

export function defaultOldClaim(claim: Wire<OldResourceClaim>): void {
  defaultOldSpec(claim.spec);
}
