import type { Node } from "@dray/api/core/v1";
import type { DeviceRecord } from "../devices/device-record.ts";
import type { Policies } from "../features/policies.ts";
import { AllocationError } from "../rules/allocation-error.ts";
import { reachesDevice, reachesSlice } from "../rules/node-selection.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { type Entry, hasCounters, poolKey } from "./pools.ts";

/**
 * The devices of slices that are not for one node by name; undefined where what they say of a node depends on more than
 * the devices one by one: on counters, on pools in which they come together with devices of one node or that may be
 * invalid, or on selectors that cannot be read.
 */
export function plainDevices(
  shared: ReadonlySet<Entry>,
  byPool: ReadonlyMap<string, Iterable<Entry>>,
  policies: Policies,
): readonly DeviceRecord[] | undefined {
  const entries = [...shared];
  for (const key of new Set(entries.map(({ slice }) => poolKey(slice)))) {
    const pool = [...(byPool.get(key) ?? [])];
    if (pool.some((entry) => !shared.has(entry))) return undefined;
    const counts = new Set(pool.map(({ slice }) => Number(slice.spec.pool.resourceSliceCount)));
    if (policies.sliceCountsMustAgree && counts.size > 1) return undefined;
  }
  for (const { slice, records } of entries) {
    if (hasCounters(slice) || records.some(({ device }) => consumesCounters(device))) return undefined;
    if (!legible(slice, records)) return undefined;
  }
  const records = entries.flatMap(({ records }) => records);
  return new Set(records.map(({ id }) => id)).size === records.length ? records : undefined;
}

/** Whether all node selectors can be read. */
function legible(slice: Entry["slice"], records: readonly DeviceRecord[]): boolean {
  const nobody = { metadata: { name: "" } } as Node;
  try {
    for (const { device } of records) reachesDevice(slice, device, nobody);
    reachesSlice(slice, nobody);
    return true;
  } catch (error) {
    if (error instanceof AllocationError) return false;
    throw error;
  }
}
