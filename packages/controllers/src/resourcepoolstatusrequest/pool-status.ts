import { Quantity } from "@dray/api";
import type { Device, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type {
  PoolStatus,
  ResourcePoolStatusRequest,
  ResourcePoolStatusRequestStatus,
} from "@dray/api/resource/v1alpha3";
import { selects } from "../devicetainteviction/evictions.ts";
import { newest, poolKey } from "../shared/pools.ts";
import { type PoolView, poolSummaries } from "./views.ts";

/** Limit of bytes of a pool's validationError (resource/v1alpha3 PoolStatus). */
const maxErrorLength = 256;
const defaultLimit = 100;

/** The objects from which a status is calculated. */
export interface PoolInventory {
  readonly slices: Iterable<ResourceSlice>;
  readonly claims: Iterable<ResourceClaim>;
  readonly rules: readonly DeviceTaintRule[];
  /** Whether the release has summaries of partitions and shares (1.37). */
  readonly summaries: boolean;
}

export interface CalculatedStatus {
  readonly status: ResourcePoolStatusRequestStatus;
  /** A driver is still publishing one of the pools, so that its numbers are missing. */
  readonly incomplete: boolean;
}

/**
 * The status of the pools that a request asks for, sorted by name and cut to its limit.
 *
 * Upstream: pkg/controller/resourcepoolstatusrequest/controller.go, calculatePoolStatus.
 */
export function calculatePoolStatus(
  { spec }: ResourcePoolStatusRequest,
  inventory: PoolInventory,
  now: string,
): CalculatedStatus {
  const { driver, limit = defaultLimit } = spec;
  const pools = new Map<string, Map<string, ResourceSlice>>();
  for (const slice of inventory.slices) {
    const { name } = slice.spec.pool;
    if (slice.spec.driver !== driver || (spec.poolName && name !== spec.poolName)) continue;
    const slices = pools.get(name) ?? new Map<string, ResourceSlice>();
    pools.set(name, slices.set(slice.metadata.name, slice));
  }
  const usage = usageOf(inventory.claims, driver);
  const names = [...pools.keys()].sort().slice(0, limit);
  const reported = names.map((pool) =>
    poolStatus(
      {
        driver,
        pool,
        slices: newest(pools.get(pool) ?? new Map()),
        inUse: usage.get(poolKey(driver, pool))?.devices ?? new Set(),
        consumed: usage.get(poolKey(driver, pool))?.consumed ?? new Map(),
        defaultAttribute: spec.defaultPartitionTypeAttribute,
      },
      inventory,
    ),
  );
  const wrong = reported.filter(({ status }) => status.validationError !== undefined).length;
  const status = {
    poolCount: pools.size,
    ...(reported.length === 0 ? {} : { pools: reported.map(({ status }) => status) }),
    conditions: [
      {
        type: "Complete",
        status: "True",
        lastTransitionTime: now,
        reason: "CalculationComplete",
        message: `Calculated status for ${reported.length} pools${wrong > 0 ? ` (${wrong} incomplete)` : ""}`,
      },
    ],
  };
  return { status, incomplete: reported.some(({ incomplete }) => incomplete) };
}

/** The status of a request that failed. */
export function failedStatus(message: string, now: string): ResourcePoolStatusRequestStatus {
  const condition = {
    type: "Failed",
    status: "True",
    lastTransitionTime: now,
    reason: "CalculationFailed",
    message,
  };
  return { poolCount: 0, conditions: [condition] };
}

interface PoolUsage {
  readonly devices: Set<string>;
  readonly consumed: Map<string, Quantity>;
}

/** Devices of each pool that claims have. Admin access (KEP-5018) takes none. */
function usageOf(claims: Iterable<ResourceClaim>, driver: string): Map<string, PoolUsage> {
  const usage = new Map<string, PoolUsage>();
  for (const { status } of claims)
    for (const result of status?.allocation?.devices?.results ?? []) {
      if (result.adminAccess === true || result.driver !== driver) continue;
      const key = poolKey(result.driver, result.pool);
      const { devices, consumed } = usage.get(key) ?? { devices: new Set<string>(), consumed: new Map() };
      usage.set(key, { devices: devices.add(result.device), consumed });
      for (const [name, amount] of Object.entries(result.consumedCapacity ?? {})) {
        const taken = Quantity.parse(amount);
        consumed.set(name, consumed.get(name)?.add(taken) ?? taken);
      }
    }
  return usage;
}

function poolStatus(
  view: PoolView,
  { rules, summaries }: PoolInventory,
): { status: PoolStatus; incomplete: boolean } {
  const { driver, pool, slices, inUse } = view;
  const [first] = slices;
  const { nodeName } = first?.spec ?? {};
  const generation = first?.spec.pool.generation ?? 0;
  const head = {
    driver,
    poolName: pool,
    generation,
    ...(nodeName && slices.every(({ spec }) => spec.nodeName === nodeName) ? { nodeName } : {}),
  };
  const expected = first?.spec.pool.resourceSliceCount ?? 0;
  if (slices.length < Number(expected)) {
    const why = `PoolIncomplete: pool ${driver}/${pool} is incomplete: observed ${slices.length}/${expected} slices at generation ${generation}`;
    return { status: { ...head, validationError: cut(why) }, incomplete: true };
  }
  const devices = slices.flatMap(({ spec }) => spec.devices ?? []);
  const unavailable = devices.filter((device) => isUnavailable(view, device, rules)).length;
  const { validationError, ...views } = summaries ? poolSummaries(view) : {};
  const status = {
    ...head,
    resourceSliceCount: slices.length,
    totalDevices: devices.length,
    allocatedDevices: inUse.size,
    availableDevices: Math.max(0, devices.length - inUse.size - unavailable),
    unavailableDevices: unavailable,
    ...views,
    ...(validationError === undefined ? {} : { validationError: cut(validationError) }),
  };
  return { status, incomplete: false };
}

function isUnavailable(
  { driver, pool }: PoolView,
  device: Device,
  rules: readonly DeviceTaintRule[],
): boolean {
  const keepsOut = (effect: string | undefined): boolean => effect === "NoSchedule" || effect === "NoExecute";
  return (
    (device.taints ?? []).some(({ effect }) => keepsOut(effect)) ||
    rules.some((rule) => keepsOut(rule.spec.taint?.effect) && selects(rule, driver, pool, device.name))
  );
}

/** Names of drivers, pools and devices are ASCII: characters are bytes. */
function cut(text: string): string {
  return text.slice(0, maxErrorLength);
}
