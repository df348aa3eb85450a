import type { ResourcePoolStatusRequest } from "../../generated/resource/v1alpha3.ts";
import { dnsSubdomain } from "../../names.ts";
import { checkConditions } from "../conditions.ts";
import type { ValidationContext } from "../context.ts";
import { checkImmutable, type FieldErrors } from "../field.ts";
import { internalForm } from "../internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../metadata.ts";
import { checkDriverName, checkPoolName } from "./names.ts";

/** Most pools that one request may ask for. */
const largestLimit = 1000;

export function checkPoolRequest(errors: FieldErrors, request: ResourcePoolStatusRequest): void {
  checkMetadata(errors, "metadata", request.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors, "metadata", request.metadata);
  const { driver, poolName, limit = 1 } = request.spec ?? {};
  checkDriverName(errors, "spec.driver", driver);
  if (poolName !== undefined) checkPoolName(errors, "spec.poolName", poolName);
  if (limit < 1) errors.invalid("spec.limit", limit, "must be greater than or equal to 1");
  if (limit > largestLimit)
    errors.invalid("spec.limit", limit, `must be less than or equal to ${largestLimit}`);
}

export function checkPoolRequestUpdate(
  errors: FieldErrors,
  request: ResourcePoolStatusRequest,
  old: ResourcePoolStatusRequest,
): void {
  checkMetadataUpdate(errors, "metadata", request.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", request.metadata);
  // Upstream prints no value here.
  checkImmutable(errors, "spec", request.spec, old.spec, () => null);
}

/** The status is written once. */
export function checkPoolRequestStatus(
  errors: FieldErrors,
  request: ResourcePoolStatusRequest,
  old: ResourcePoolStatusRequest,
  context: ValidationContext,
): void {
  checkMetadataUpdate(errors, "metadata", request.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", request.metadata);
  if (old.status) {
    const type = "resource/v1alpha3.ResourcePoolStatusRequestStatus";
    const printed = (): unknown => internalForm(type, request.status, context.features.version);
    checkImmutable(errors, "status", request.status, old.status, printed);
    return;
  }
  checkConditions(errors, "status.conditions", request.status?.conditions);
}
