/** Status of a ResourceClaim: allocation, reservations, device status (KEP-4381, KEP-4817). */

import { interfaceAddressRule } from "../../../checks/address.ts";
import { checkConditions } from "../../../checks/conditions.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors, sameValue, unlimited } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { checkNodeSelector } from "../../../checks/nodeselector.ts";
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
} from "../../../generated/resource/v1.ts";
import { byteLength } from "../../../values/names.ts";
import { checkBindingConditions } from "../binding.ts";
import {
  checkDeviceName,
  checkDriverName,
  checkPoolName,
  checkRawData,
  checkShareId,
  limits,
} from "../names.ts";
import { checkToleration } from "../taints.ts";
import {
  adminAccessDetail,
  checkConfiguration,
  checkReference,
  checkReferences,
  mayUseAdminAccess,
  requestReferences,
} from "./validation.ts";

type DeviceKey = Pick<DeviceRequestAllocationResult, "driver" | "pool" | "device" | "shareID">;

/** Identity of a device in an allocation, in the form that error messages print. */
function deviceKey({ driver = "", pool = "", device = "", shareID = "" }: Partial<DeviceKey>): object {
  return { Driver: driver, Pool: pool, Device: device, ShareID: shareID };
}

const keyText = (key: Partial<DeviceKey>): string => JSON.stringify(deviceKey(key));

function checkConsumer(errors: FieldErrors, consumer: ResourceClaimConsumerReference): void {
  for (const name of ["resource", "name", "uid"] as const) {
    if (!consumer[name]) errors.at(name).required();
  }
}

function checkNetworkData(errors: FieldErrors, data: NetworkDeviceData): void {
  const { interfaceName = "", hardwareAddress = "" } = data;
  if (byteLength(interfaceName) > limits.interfaceName) {
    errors.at("interfaceName").tooLong(limits.interfaceName);
  }
  if (byteLength(hardwareAddress) > limits.hardwareAddress) {
    errors.at("hardwareAddress").tooLong(limits.hardwareAddress);
  }
  const check = (here: FieldErrors, address: string): void => {
    here.check(interfaceAddressRule, address);
  };
  errors.at("ips").set(data.ips, limits.addresses, check, (address) => address);
}

function checkDeviceStatus(
  errors: FieldErrors,
  device: AllocatedDeviceStatus,
  allocated: ReadonlySet<string>,
): void {
  checkDriverName(errors.at("driver"), device.driver);
  checkPoolName(errors.at("pool"), device.pool);
  checkDeviceName(errors.at("device"), device.device);
  if (device.shareID !== undefined) checkShareId(errors.at("shareID"), device.shareID);
  if (!allocated.has(keyText(device))) {
    errors.invalid(deviceKey(device), "must be an allocated device in the claim");
  }
  const conditions = device.conditions ?? [];
  if (conditions.length > limits.conditions) {
    errors.at("conditions").tooMany(conditions.length, limits.conditions);
  }
  checkConditions(errors.at("conditions"), conditions);
  if (device.data !== undefined && device.data !== null) {
    checkRawData(errors.at("data"), device.data, false);
  }
  if (device.networkData) checkNetworkData(errors.at("networkData"), device.networkData);
}

function checkResult(
  errors: FieldErrors,
  result: DeviceRequestAllocationResult,
  known: ReadonlySet<string>,
  context: ValidationContext,
): void {
  checkReference(errors.at("request"), result.request ?? "", known);
  checkDriverName(errors.at("driver"), result.driver);
  checkPoolName(errors.at("pool"), result.pool);
  checkDeviceName(errors.at("device"), result.device);
  checkBindingConditions(errors, result);
  // Earlier releases take over what the scheduler writes.
  if (context.features.version >= "1.37") {
    (result.tolerations ?? []).forEach((toleration, index) => {
      checkToleration(errors.at("tolerations").index(index), toleration);
    });
  }
  if (result.shareID !== undefined) checkShareId(errors.at("shareID"), result.shareID);
}

function checkAllocation(
  errors: FieldErrors,
  allocation: AllocationResult,
  known: ReadonlySet<string>,
  context: ValidationContext,
): void {
  const { devices, nodeSelector } = allocation;
  errors
    .at("devices.results")
    .items(devices?.results, limits.results, (here, result) => checkResult(here, result, known, context));
  const checkConfig = (here: FieldErrors, config: DeviceAllocationConfiguration): void => {
    here.at("source").oneOf(config.source, ["FromClaim", "FromClass"]);
    checkReferences(here.at("requests"), config.requests, known);
    checkConfiguration(here, config);
  };
  errors.at("devices.config").items(devices?.config, limits.allocationConfig, checkConfig);
  if (nodeSelector) checkNodeSelector(errors.at("nodeSelector"), nodeSelector);
}

/** A result with admin access where the stored allocation has none yet (AuthorizedForAdminStatus). */
function checkNewAdminAccess(
  errors: FieldErrors,
  claim: ResourceClaim,
  old: ResourceClaim,
  context: ValidationContext,
): void {
  if (mayUseAdminAccess(context)) return;
  const first = ({ status }: ResourceClaim): number =>
    (status?.allocation?.devices?.results ?? []).findIndex((result) => result.adminAccess === true);
  const index = first(claim);
  if (index < 0 || first(old) >= 0) return;
  errors.at("status.allocation.devices.results").index(index).at("adminAccess").forbidden(adminAccessDetail);
}

export function checkClaimStatus(
  errors: FieldErrors,
  claim: ResourceClaim,
  old: ResourceClaim,
  context: ValidationContext,
): void {
  checkNewAdminAccess(errors, claim, old, context);
  checkMetadataUpdate(errors.at("metadata"), claim.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), claim.metadata);
  const { allocation, reservedFor = [], devices } = claim.status ?? {};
  errors
    .at("status.reservedFor")
    .set(reservedFor, limits.reservedFor, checkConsumer, (consumer) => consumer.uid ?? "");
  const allocated = new Set((allocation?.devices?.results ?? []).map(keyText));
  errors
    .at("status.devices")
    .set(devices, unlimited, (here, device) => checkDeviceStatus(here, device, allocated), deviceKey);
  checkReservations(errors, claim, old);
  const before = old.status?.allocation;
  if (before && allocation) {
    const printed = (): unknown => internalForm("resource/v1.AllocationResult", allocation, errors);
    checkImmutable(errors.at("status.allocation"), allocation, before, printed);
  } else if (allocation) {
    checkAllocation(
      errors.at("status.allocation"),
      allocation,
      requestReferences(claim.spec?.devices),
      context,
    );
  }
}

/** A claim is reserved only while it is allocated; once it is being deleted no consumer is added. */
function checkReservations(errors: FieldErrors, claim: ResourceClaim, old: ResourceClaim): void {
  const reservedFor = claim.status?.reservedFor ?? [];
  if (reservedFor.length === 0) return;
  if (!claim.status?.allocation) {
    errors.at("status.reservedFor").forbidden("may not be specified when `allocated` is not set");
  } else if (claim.metadata.deletionTimestamp) {
    const before = old.status?.reservedFor ?? [];
    if (reservedFor.some((consumer) => !before.some((known) => sameValue(known, consumer)))) {
      const detail =
        "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
      errors.at("status.reservedFor").forbidden(detail);
    }
  }
}

/**
 * Drops the status of devices that this update deallocates, in place: a driver cannot be asked to do it in
 * the same write as the scheduler. To be called before the update is validated.
 */
export function dropDeallocatedDevices(claim: ResourceClaim, old: ResourceClaim): void {
  const { status } = claim;
  if (!status?.devices) return;
  const results = (of: ResourceClaim): ReadonlySet<string> =>
    new Set((of.status?.allocation?.devices?.results ?? []).map(keyText));
  const [now, before] = [results(claim), results(old)];
  const kept = status.devices.filter((device) => now.has(keyText(device)) || !before.has(keyText(device)));
  if (kept.length > 0) status.devices = kept;
  else delete status.devices;
}
