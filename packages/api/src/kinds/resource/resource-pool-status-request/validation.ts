/**
 * Requests for the state of pools (KEP-5677). But for metadata and immutability, upstream's rules are
 * declarative.
 */

import { checkConditions } from "../../../checks/conditions.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors, sameValue, seenBefore } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type {
  PartitionTypeStatus,
  PoolStatus,
  ResourcePoolStatusRequest,
  ResourcePoolStatusRequestStatus,
  ShareableSummaryStatus,
} from "../../../generated/resource/v1alpha3.ts";
import { byteLength, dnsSubdomain, dnsSubdomainCaseless } from "../../../values/names.ts";
import { checkFullyQualifiedName, limits } from "../names.ts";

/** Most pools that one request may ask for, and that its status may have. */
const maxPools = 1000;
const maxConditions = 10;
const validationErrorLimit = 256;
/** Most entries of a summary. */
const maxEntries = 32;

export function checkPoolRequest(errors: FieldErrors, request: ResourcePoolStatusRequest): void {
  checkMetadata(errors, "metadata", request.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors, "metadata", request.metadata);
  const { driver, poolName, limit = 1, defaultPartitionTypeAttribute: attribute } = request.spec ?? {};
  errors.checkRequired(dnsSubdomainCaseless, "spec.driver", driver);
  if (poolName !== undefined) checkPoolName(errors, "spec.poolName", poolName);
  if (limit > maxPools) errors.invalid("spec.limit", limit, `must be less than or equal to ${maxPools}`);
  atLeast(errors, "spec.limit", limit, 1);
  if (attribute !== undefined)
    checkFullyQualifiedName(errors, "spec.defaultPartitionTypeAttribute", attribute);
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

/** The status is written once; what changes in it is checked even where it may not change. */
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
  } else checkConditions(errors, "status.conditions", request.status?.conditions);
  if (request.status) checkStatus(errors, request.status, old.status);
}

function checkStatus(
  errors: FieldErrors,
  status: ResourcePoolStatusRequestStatus,
  old: ResourcePoolStatusRequestStatus | undefined,
): void {
  const { poolCount, pools, conditions } = status;
  if (poolCount === undefined) {
    if (!old || old.poolCount !== undefined) errors.required("status.poolCount");
  } else if (poolCount !== old?.poolCount) atLeast(errors, "status.poolCount", poolCount, 0);
  if (!sameValue(pools, old?.pools)) {
    errors.items("status.pools", pools, maxPools, (pool, at) => checkPool(errors, at, pool));
  }
  if (sameValue(conditions, old?.conditions)) return;
  const unchecked = (): void => {};
  const seen = new Set<string>();
  if (!errors.items("status.conditions", conditions, maxConditions, unchecked)) return;
  (conditions ?? []).forEach((condition, index) => {
    if (seen.has(condition.type ?? "")) errors.duplicate(`status.conditions[${index}]`, condition);
    seen.add(condition.type ?? "");
  });
}

function checkPool(errors: FieldErrors, path: string, pool: PoolStatus): void {
  errors.checkRequired(dnsSubdomainCaseless, `${path}.driver`, pool.driver);
  if (pool.poolName) checkPoolName(errors, `${path}.poolName`, pool.poolName);
  else errors.required(`${path}.poolName`);
  if (Number(pool.generation ?? 0) === 0) errors.required(`${path}.generation`);
  else atLeast(errors, `${path}.generation`, pool.generation, 0);
  atLeast(errors, `${path}.resourceSliceCount`, pool.resourceSliceCount, 1);
  for (const name of [
    "totalDevices",
    "allocatedDevices",
    "availableDevices",
    "unavailableDevices",
  ] as const) {
    atLeast(errors, `${path}.${name}`, pool[name], 0);
  }
  if (pool.nodeName !== undefined) errors.check(dnsSubdomain, `${path}.nodeName`, pool.nodeName);
  if (byteLength(pool.validationError ?? "") > validationErrorLimit) {
    errors.tooLong(`${path}.validationError`, validationErrorLimit);
  }
  checkPartitions(errors, `${path}.partitionSummary`, pool.partitionSummary);
  if (pool.shareableSummary !== undefined)
    checkShares(errors, `${path}.shareableSummary`, pool.shareableSummary);
}

/** Every attribute and type once. */
function checkPartitions(
  errors: FieldErrors,
  path: string,
  partitions: readonly PartitionTypeStatus[] | undefined,
): void {
  if (!errors.items(path, partitions, maxEntries, () => {})) return;
  const before = seenBefore();
  (partitions ?? []).forEach((entry, index) => {
    if (before(JSON.stringify([entry.attribute, entry.type]))) errors.duplicate(`${path}[${index}]`, entry);
  });
  (partitions ?? []).forEach(({ attribute, type, total, allocatable }, index) => {
    const at = `${path}[${index}]`;
    if (!attribute) errors.required(`${at}.attribute`);
    if (!type) errors.required(`${at}.type`);
    checkCount(errors, `${at}.total`, total);
    checkCount(errors, `${at}.allocatable`, allocatable);
  });
}

function checkShares(errors: FieldErrors, path: string, shares: ShareableSummaryStatus): void {
  checkCount(errors, `${path}.fullyAvailableDevices`, shares.fullyAvailableDevices);
  checkCount(errors, `${path}.partiallyAvailableDevices`, shares.partiallyAvailableDevices);
  errors.items(`${path}.capacity`, shares.capacity, maxEntries, (capacity, at) => {
    if (!capacity.name) errors.required(`${at}.name`);
    for (const name of ["total", "consumed", "available"] as const)
      if (capacity[name] === undefined) errors.required(`${at}.${name}`);
  });
}

function checkCount(errors: FieldErrors, path: string, count: number | undefined): void {
  if (count === undefined) errors.required(path);
  else atLeast(errors, path, count, 0);
}

/** As `checkPoolName` of the other kinds, in the words of declarative validation (k8s-resource-pool-name). */
function checkPoolName(errors: FieldErrors, path: string, name: string): void {
  if (byteLength(name) > limits.poolName) errors.tooLong(path, limits.poolName);
  name.split("/").forEach((segment, index) => {
    const problems = segment === "" ? ["must not be empty"] : dnsSubdomain(segment);
    const shown = segment === "" ? name : segment;
    for (const problem of problems) errors.invalid(path, shown, `segment ${index}: ${problem}`);
  });
}

function atLeast(errors: FieldErrors, path: string, value: number | bigint | undefined, least: number): void {
  if (value !== undefined && value < least) {
    errors.invalid(path, value, `must be greater than or equal to ${least}`);
  }
}
