/**
 * Requests for the state of pools (KEP-5677). But for metadata and immutability, upstream's rules are
 * declarative.
 */

import { checkConditions } from "../../../checks/conditions.ts";
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
  checkMetadata(errors.at("metadata"), request.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors.at("metadata"), request.metadata);
  const { driver, poolName, limit = 1, defaultPartitionTypeAttribute: attribute } = request.spec ?? {};
  errors.at("spec.driver").checkRequired(dnsSubdomainCaseless, driver);
  if (poolName !== undefined) checkPoolName(errors.at("spec.poolName"), poolName);
  if (limit > maxPools) errors.at("spec.limit").invalid(limit, `must be less than or equal to ${maxPools}`);
  atLeast(errors.at("spec.limit"), limit, 1);
  if (attribute !== undefined)
    checkFullyQualifiedName(errors.at("spec.defaultPartitionTypeAttribute"), attribute);
}

export function checkPoolRequestUpdate(
  errors: FieldErrors,
  request: ResourcePoolStatusRequest,
  old: ResourcePoolStatusRequest,
): void {
  checkMetadataUpdate(errors.at("metadata"), request.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), request.metadata);
  // Upstream prints no value here.
  checkImmutable(errors.at("spec"), request.spec, old.spec, () => null);
}

/** The status is written once; what changes in it is checked even where it may not change. */
export function checkPoolRequestStatus(
  errors: FieldErrors,
  request: ResourcePoolStatusRequest,
  old: ResourcePoolStatusRequest,
): void {
  checkMetadataUpdate(errors.at("metadata"), request.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), request.metadata);
  if (old.status) {
    const type = "resource/v1alpha3.ResourcePoolStatusRequestStatus";
    const printed = (): unknown => internalForm(type, request.status, errors);
    checkImmutable(errors.at("status"), request.status, old.status, printed);
  } else checkConditions(errors.at("status.conditions"), request.status?.conditions);
  if (request.status) checkStatus(errors, request.status, old.status);
}

function checkStatus(
  errors: FieldErrors,
  status: ResourcePoolStatusRequestStatus,
  old: ResourcePoolStatusRequestStatus | undefined,
): void {
  const { poolCount, pools, conditions } = status;
  if (poolCount === undefined) {
    if (!old || old.poolCount !== undefined) errors.at("status.poolCount").required();
  } else if (poolCount !== old?.poolCount) atLeast(errors.at("status.poolCount"), poolCount, 0);
  if (!sameValue(pools, old?.pools)) {
    errors.at("status.pools").items(pools, maxPools, checkPool);
  }
  if (sameValue(conditions, old?.conditions)) return;
  const unchecked = (): void => {};
  const seen = new Set<string>();
  if (!errors.at("status.conditions").items(conditions, maxConditions, unchecked)) return;
  (conditions ?? []).forEach((condition, index) => {
    if (seen.has(condition.type ?? "")) errors.at("status.conditions").index(index).duplicate(condition);
    seen.add(condition.type ?? "");
  });
}

function checkPool(errors: FieldErrors, pool: PoolStatus): void {
  errors.at("driver").checkRequired(dnsSubdomainCaseless, pool.driver);
  if (pool.poolName) checkPoolName(errors.at("poolName"), pool.poolName);
  else errors.at("poolName").required();
  if (Number(pool.generation ?? 0) === 0) errors.at("generation").required();
  else atLeast(errors.at("generation"), pool.generation, 0);
  atLeast(errors.at("resourceSliceCount"), pool.resourceSliceCount, 1);
  for (const name of [
    "totalDevices",
    "allocatedDevices",
    "availableDevices",
    "unavailableDevices",
  ] as const) {
    atLeast(errors.at(name), pool[name], 0);
  }
  if (pool.nodeName !== undefined) errors.at("nodeName").check(dnsSubdomain, pool.nodeName);
  if (byteLength(pool.validationError ?? "") > validationErrorLimit) {
    errors.at("validationError").tooLong(validationErrorLimit);
  }
  checkPartitions(errors.at("partitionSummary"), pool.partitionSummary);
  if (pool.shareableSummary !== undefined) checkShares(errors.at("shareableSummary"), pool.shareableSummary);
}

/** Every attribute and type once. */
function checkPartitions(errors: FieldErrors, partitions: readonly PartitionTypeStatus[] | undefined): void {
  if (!errors.items(partitions, maxEntries, () => {})) return;
  const before = seenBefore();
  (partitions ?? []).forEach((entry, index) => {
    if (before(JSON.stringify([entry.attribute, entry.type]))) errors.index(index).duplicate(entry);
  });
  (partitions ?? []).forEach(({ attribute, type, total, allocatable }, index) => {
    const here = errors.index(index);
    if (!attribute) here.at("attribute").required();
    if (!type) here.at("type").required();
    checkCount(here.at("total"), total);
    checkCount(here.at("allocatable"), allocatable);
  });
}

function checkShares(errors: FieldErrors, shares: ShareableSummaryStatus): void {
  checkCount(errors.at("fullyAvailableDevices"), shares.fullyAvailableDevices);
  checkCount(errors.at("partiallyAvailableDevices"), shares.partiallyAvailableDevices);
  errors.at("capacity").items(shares.capacity, maxEntries, (here, capacity) => {
    if (!capacity.name) here.at("name").required();
    for (const name of ["total", "consumed", "available"] as const)
      if (capacity[name] === undefined) here.at(name).required();
  });
}

function checkCount(errors: FieldErrors, count: number | undefined): void {
  if (count === undefined) errors.required();
  else atLeast(errors, count, 0);
}

/** As `checkPoolName` of the other kinds, in the words of declarative validation (k8s-resource-pool-name). */
function checkPoolName(errors: FieldErrors, name: string): void {
  if (byteLength(name) > limits.poolName) errors.tooLong(limits.poolName);
  name.split("/").forEach((segment, index) => {
    const problems = segment === "" ? ["must not be empty"] : dnsSubdomain(segment);
    const shown = segment === "" ? name : segment;
    for (const problem of problems) errors.invalid(shown, `segment ${index}: ${problem}`);
  });
}

function atLeast(errors: FieldErrors, value: number | bigint | undefined, least: number): void {
  if (value !== undefined && value < least) {
    errors.invalid(value, `must be greater than or equal to ${least}`);
  }
}
