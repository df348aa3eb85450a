import type { Node } from "@dray/api/core/v1";
import { AllocationError } from "../devices/allocation-error.ts";
import type { DeviceRecord } from "../devices/device-record.ts";
import { isDeviceForNode, isSliceForNode } from "../devices/node-selection.ts";
import type { Policies } from "../features/policies.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { hasSharedCounters, poolKey, type SliceRecord } from "./slices.ts";

/**
 * Returns the devices of slices that do not name a single node, if each of them alone decides whether a node
 * is served. Returns undefined if that also depends on counters, on pools that are split between such slices
 * and slices of one node or may be invalid, or on invalid node selectors.
 */
export function independentDevices(
  multiNodeSlices: ReadonlySet<SliceRecord>,
  byPool: ReadonlyMap<string, Iterable<SliceRecord>>,
  policies: Policies,
): readonly DeviceRecord[] | undefined {
  const slices = [...multiNodeSlices];
  for (const key of new Set(slices.map(({ slice }) => poolKey(slice)))) {
    const pool = [...(byPool.get(key) ?? [])];
    if (pool.some((record) => !multiNodeSlices.has(record))) return undefined;
    const counts = new Set(pool.map(({ slice }) => Number(slice.spec.pool.resourceSliceCount)));
    if (policies.sliceCountsMustAgree && counts.size > 1) return undefined;
  }
  for (const record of slices) {
    if (hasSharedCounters(record.slice)) return undefined;
    if (record.records.some(({ device }) => consumesCounters(device))) return undefined;
    if (!hasValidNodeSelectors(record)) return undefined;
  }
  const records = slices.flatMap(({ records }) => records);
  return new Set(records.map(({ id }) => id)).size === records.length ? records : undefined;
}

function hasValidNodeSelectors(record: SliceRecord): boolean {
  const noNode = { metadata: { name: "" } } as Node;
  try {
    for (const device of record.records) isDeviceForNode(device, noNode);
    isSliceForNode(record, noNode);
    return true;
  } catch (error) {
    if (error instanceof AllocationError) return false;
    throw error;
  }
}
