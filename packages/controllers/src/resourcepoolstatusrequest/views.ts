import { Quantity } from "@dray/api";
import type { CounterSet, Device, ResourceSlice } from "@dray/api/resource/v1";
import type { PartitionTypeStatus, ShareableSummaryStatus } from "@dray/api/resource/v1alpha3";
import { CounterRoom, costKey } from "./counters.ts";

/** Maximum number of entries of a summary (resource/v1alpha3 PoolStatus). */
const maxEntries = 32;

/** A complete pool, for its summaries. */
export interface PoolView {
  readonly driver: string;
  readonly pool: string;
  readonly slices: readonly ResourceSlice[];
  /** The names of devices with an allocation other than admin access. */
  readonly inUse: ReadonlySet<string>;
  /** Capacity of the pool that allocations take. */
  readonly consumed: ReadonlyMap<string, Quantity>;
  /** Groups partitions of a pool whose slices declare no attribute. */
  readonly defaultAttribute?: string | undefined;
}

export interface PoolSummaries {
  readonly partitionSummary?: PartitionTypeStatus[];
  readonly shareableSummary?: ShareableSummaryStatus;
  /** The first thing that is wrong with the pool, after a prefix for programs. */
  readonly validationError?: string;
}

/** A device with its partition type, if it has one. */
interface Partition {
  readonly device: Device;
  readonly attribute: string | undefined;
}

/**
 * Returns how much of a partitionable or shareable pool is left (KEP-5677).
 *
 * Upstream: pkg/controller/resourcepoolstatusrequest/views.go.
 */
export function poolSummaries(view: PoolView): PoolSummaries {
  const sets = view.slices.flatMap(({ spec }) => spec.sharedCounters ?? []);
  const partitions = partitionsOf(view);
  const partitionable = partitions.some(({ attribute }) => attribute !== undefined);
  const summary = partitionable ? summarizePartitions(view, partitions, sets) : undefined;
  const shareable = summarizeShares(view);
  const validationError = errorOf(summary) ?? errorOf(shareable);
  return {
    // A pool with an error has no view of its partitions.
    ...(Array.isArray(summary) && summary.length > 0 && validationError === undefined
      ? { partitionSummary: summary }
      : {}),
    ...(shareable === undefined || typeof shareable === "string" ? {} : { shareableSummary: shareable }),
    ...(validationError === undefined ? {} : { validationError }),
  };
}

function errorOf(view: object | string | undefined): string | undefined {
  return typeof view === "string" ? view : undefined;
}

/** The attribute is that of a device's own slice; the default is for pools none of whose slices has one. */
function partitionsOf({ slices, defaultAttribute }: PoolView): Partition[] {
  const declared = slices.some(({ spec }) => spec.partitionTypeAttribute && (spec.devices ?? []).length > 0);
  return slices.flatMap(({ spec }) =>
    (spec.devices ?? []).map((device) => ({
      device,
      attribute: spec.partitionTypeAttribute || (declared ? undefined : defaultAttribute || undefined),
    })),
  );
}

/** A text is an error. */
function summarizePartitions(
  view: PoolView,
  partitions: readonly Partition[],
  sets: readonly CounterSet[],
): PartitionTypeStatus[] | string {
  const { driver, pool, inUse } = view;
  if (sets.length === 0)
    return `PartitionTypeMissing: pool ${driver}/${pool} declares partitionTypeAttribute but publishes no sharedCounters`;
  const groups = new Map<string, { attribute: string; type: string; cost: string; devices: Device[] }>();
  for (const { device, attribute } of partitions) {
    const cost = device.consumesCounters ?? [];
    if (cost.length === 0 || attribute === undefined) continue;
    const type = typeOf(driver, device, attribute);
    if (type === undefined)
      return `PartitionTypeMissing: device ${JSON.stringify(device.name)} in pool ${driver}/${pool} does not carry partition type attribute ${JSON.stringify(attribute)}`;
    const key = JSON.stringify([attribute, type]);
    const group = groups.get(key) ?? { attribute, type, cost: costKey(cost), devices: [] };
    if (group.cost !== costKey(cost))
      return `PartitionCostMismatch: devices of partition type ${JSON.stringify(type)} in pool ${driver}/${pool} consume different counters`;
    group.devices.push(device);
    groups.set(key, group);
  }
  if (groups.size > maxEntries)
    return `PartitionSummaryOverCap: pool ${driver}/${pool} has ${groups.size} partition types, exceeding the maximum of ${maxEntries}`;
  const used = partitions.map(({ device }) => device).filter(({ name }) => inUse.has(name));
  const room = CounterRoom.of(sets, used);
  return [...groups.values()]
    .map(({ attribute, type, devices }) => {
      const free = devices.filter(({ name }) => !inUse.has(name));
      return { attribute, type, total: devices.length, allocatable: fitting(free, room.copy()) };
    })
    .sort((a, b) => byText(a.attribute, b.attribute) || byText(a.type, b.type));
}

/** Returns how many of the devices fit beside what is in use, each group for itself. */
function fitting(devices: readonly Device[], room: CounterRoom): number {
  let count = 0;
  for (const { consumesCounters = [] } of devices) {
    if (!room.fits(consumesCounters)) continue;
    room.take(consumesCounters);
    count++;
  }
  return count;
}

/** An attribute of the driver's domain may be published without it; a qualified name comes first. */
function typeOf(driver: string, { attributes = {} }: Device, name: string): string | undefined {
  const bare = name.startsWith(`${driver}/`) ? name.slice(driver.length + 1) : undefined;
  const found = attributes[name] ?? (bare === undefined ? undefined : attributes[bare]);
  return found?.string;
}

/** A text is an error; undefined: no device of the pool can be shared. */
function summarizeShares({
  driver,
  pool,
  slices,
  inUse,
  consumed,
}: PoolView): ShareableSummaryStatus | string | undefined {
  const shared = slices
    .flatMap(({ spec }) => spec.devices ?? [])
    .filter(({ allowMultipleAllocations }) => allowMultipleAllocations === true);
  if (shared.length === 0) return undefined;
  const totals = new Map<string, Quantity>();
  for (const { capacity = {} } of shared)
    for (const [name, { value }] of Object.entries(capacity)) {
      const amount = Quantity.parse(value);
      totals.set(name, totals.get(name)?.add(amount) ?? amount);
    }
  if (totals.size > maxEntries)
    return `ShareableSummaryOverCap: pool ${driver}/${pool} has ${totals.size} shareable capacity keys, exceeding the maximum of ${maxEntries}`;
  const partially = shared.filter(({ name }) => inUse.has(name)).length;
  const capacity = [...totals]
    .sort(([a], [b]) => byText(a, b))
    .map(([name, total]) => {
      const taken = consumed.get(name) ?? Quantity.of(0);
      const left = total.sub(taken);
      const available = left.sign < 0 ? Quantity.of(0, total.format) : left;
      return { name, total: `${total}`, consumed: `${taken}`, available: `${available}` };
    });
  return {
    fullyAvailableDevices: shared.length - partially,
    partiallyAvailableDevices: partially,
    ...(capacity.length === 0 ? {} : { capacity }),
  };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
