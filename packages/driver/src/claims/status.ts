import { canonicalJSON, StatusError, timeText } from "@dray/api";
import type { Condition } from "@dray/api/meta/v1";
import { type AllocatedDeviceStatus, type NetworkDeviceData, ResourceClaim } from "@dray/api/resource/v1";
import type { Client, Clock, ResourceClient } from "@dray/client";
import { withResourceVersions } from "../versions/client.ts";

/** One device of a claim; a result of its allocation is one. */
export interface DeviceRef {
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string | undefined;
}

/** One claim, as prepared claims and ResourceClaims name it. */
export interface ClaimRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface DeviceCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** A CamelCase word. */
  readonly reason: string;
  readonly message?: string;
  /** metadata.generation of the claim, where the condition depends on its spec. */
  readonly observedGeneration?: number;
}

/** New status of a device; a field that is absent stays as it is. */
export interface DeviceStatus {
  readonly device: DeviceRef;
  /** Each replaces the condition of its type; the others stay. Maximum: 8 types. */
  readonly conditions?: readonly DeviceCondition[];
  /** Any object, at most 10 KiB as JSON; null removes it. */
  readonly data?: object | null;
  /** `ips` are addresses with a prefix length: `10.0.0.7/24`. Null removes it. */
  readonly networkData?: NetworkDeviceData | null;
}

/** Writes the status of devices into that of their claims. */
export interface ClaimStatusWriter {
  /**
   * Merges `devices` into `claim.status.devices`: entries of other drivers and of other devices stay as they
   * are. Retries on a conflict; writes nothing where nothing
   * changes. Rejects where the claim was created anew, or a device is not allocated to it (any more);
   * otherwise as the API server says, such as with Forbidden where a right is missing.
   */
  write(claim: ClaimRef, devices: readonly DeviceStatus[]): Promise<ResourceClaim>;
}

export interface ClaimStatusOptions {
  readonly client: Client;
  /** Name of the driver whose devices are written. */
  readonly driver: string;
  readonly clock: Clock;
}

/**
 * A writer of `ResourceClaim.status.devices` (KEP-4817, AllocatedDeviceStatus). It needs these rights:
 * `resourceclaims` get; `resourceclaims/status` update; and where DRAResourceClaimGranularStatusAuthorization
 * is on (1.36), `resourceclaims/driver` with the driver as resource name and the verb
 * `associated-node:update` for the claims of its own node, or `arbitrary-node:update` for a controller.
 */
export function claimStatusWriter({ client, driver, clock }: ClaimStatusOptions): ClaimStatusWriter {
  const resource = withResourceVersions(client, clock).resource(ResourceClaim);
  return {
    write: (ref, devices) =>
      writeClaimStatus(resource, ref, (claim) => mergeStatus(claim, driver, devices, clock.now())),
  };
}

/** How often a write that meets another is tried again. */
const maxConflicts = 20;

/**
 * Writes `change(claim)` into the status of the claim, and again with the claim as it is then when somebody
 * else was faster. Undefined: nothing is to be written.
 */
export async function writeClaimStatus(
  resource: ResourceClient<ResourceClaim>,
  ref: ClaimRef,
  change: (claim: ResourceClaim) => AllocatedDeviceStatus[] | undefined,
): Promise<ResourceClaim> {
  for (let conflicts = 0; ; conflicts++) {
    const claim = await resource.get({ namespace: ref.namespace, name: ref.name });
    const { uid } = claim.metadata;
    if (uid !== ref.uid) {
      throw new Error(
        `claim ${ref.namespace}/${ref.name} has UID ${uid}, not ${ref.uid}: it was deleted and created anew`,
      );
    }
    const devices = change(claim);
    if (devices === undefined) return claim;
    try {
      return await resource.update(
        { ...claim, status: { ...claim.status, devices } },
        { subresource: "status" },
      );
    } catch (error) {
      if (!StatusError.is(error, "Conflict") || conflicts >= maxConflicts) throw error;
    }
  }
}

/**
 * `status.devices` with `changes` in it; undefined if it has them already. `now`: milliseconds since the
 * epoch.
 */
export function mergeStatus(
  claim: ResourceClaim,
  driver: string,
  changes: readonly DeviceStatus[],
  now: number,
): AllocatedDeviceStatus[] | undefined {
  const results = claim.status?.allocation?.devices?.results ?? [];
  const before = claim.status?.devices ?? [];
  const after = [...before];
  for (const { device, ...change } of changes) {
    if (!results.some((result) => result.driver === driver && sameDevice(result, device))) {
      const { namespace, name } = claim.metadata;
      throw new Error(
        `device ${nameOf(device)} of driver ${driver} is not allocated to claim ${namespace}/${name}: ` +
          `${results.length === 0 ? "nothing" : results.map((one) => `${one.driver}/${nameOf(one)}`).join(", ")} is`,
      );
    }
    const place = after.findIndex((one) => one.driver === driver && sameDevice(one, device));
    const merged = mergeDevice(after[place] ?? emptyStatus(driver, device), change, now);
    if (place < 0) after.push(merged);
    else after[place] = merged;
  }
  return canonicalJSON(before) === canonicalJSON(after) ? undefined : after;
}

function emptyStatus(driver: string, { pool, device, shareID }: DeviceRef): AllocatedDeviceStatus {
  return { driver, pool, device, ...(shareID === undefined ? {} : { shareID }) };
}

function mergeDevice(
  old: AllocatedDeviceStatus,
  { conditions, data, networkData }: Omit<DeviceStatus, "device">,
  now: number,
): AllocatedDeviceStatus {
  const { data: oldData, networkData: oldNetworkData, ...rest } = old;
  const nextData = data === undefined ? oldData : data;
  const nextNetworkData = networkData === undefined ? oldNetworkData : networkData;
  return {
    ...rest,
    ...(conditions === undefined
      ? {}
      : { conditions: mergeConditions(old.conditions ?? [], conditions, now) }),
    ...(nextData == null ? {} : { data: nextData }),
    ...(nextNetworkData == null ? {} : { networkData: nextNetworkData }),
  };
}

/** Upstream: k8s.io/apimachinery/pkg/api/meta, SetStatusCondition: the time changes with the status only. */
function mergeConditions(
  old: readonly Condition[],
  changes: readonly DeviceCondition[],
  now: number,
): Condition[] {
  const merged = [...old];
  for (const { type, status, reason, message = "", observedGeneration } of changes) {
    const place = merged.findIndex((one) => one.type === type);
    const before = merged[place];
    const condition: Condition = {
      type,
      status,
      reason,
      message,
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : timeText(now),
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    };
    if (place < 0) merged.push(condition);
    else merged[place] = condition;
  }
  return merged;
}

/** The keys of status.devices beside the driver. */
export function sameDevice(one: DeviceRef, other: DeviceRef): boolean {
  return one.pool === other.pool && one.device === other.device && one.shareID === other.shareID;
}

function nameOf({ pool, device, shareID }: DeviceRef): string {
  return `${pool}/${device}${shareID === undefined ? "" : `/${shareID}`}`;
}
