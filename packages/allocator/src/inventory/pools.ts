import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { SharedCounters } from "../rules/shared-counters.ts";
import { hasSharedCounters, type SliceRecord } from "./slices.ts";

/** A pool as seen from a node. */
export interface Pool {
  readonly driver: string;
  readonly name: string;
  /** Slices of its newest generation are missing: its driver is updating it, or cannot publish them. */
  readonly incomplete: boolean;
  /** Number of the slices of its newest generation, and the number that they announce. */
  readonly slices: { readonly there: number; readonly announced: number };
  /** Why its slices contradict each other; undefined for a valid pool. */
  readonly invalid: string | undefined;
  /**
   * Devices of the slices that are for the node; with perDeviceNodeSelection each may be for another node.
   */
  readonly devices: readonly DeviceRecord[];
  /** Devices that are unusable because the pool is incomplete or invalid. */
  readonly unusableDevices: readonly DeviceRecord[];
  readonly counters: SharedCounters | undefined;
  /** A device has binding conditions: the pool is searched after those without. */
  readonly hasBindingConditions: boolean;
}

/**
 * Makes a pool from the slices of its newest generation: `current` are those for the node, `all` those for
 * any node. `complete` reports whether `all` has as many slices as the pool announces.
 */
export function makePool(
  current: readonly SliceRecord[],
  all: readonly SliceRecord[],
  complete: boolean,
  { features, policies }: { readonly features: Features; readonly policies: Policies },
): Pool {
  const { driver, pool } = current[0]!.slice.spec;
  const id = { driver, name: pool.name };
  const slices = { there: all.length, announced: Number(pool.resourceSliceCount) };
  const unusable = {
    ...id,
    slices,
    devices: [],
    unusableDevices: current.flatMap(({ records }) => records),
    counters: undefined,
    hasBindingConditions: false,
  };
  if (!complete) return { ...unusable, incomplete: true, invalid: undefined };
  const invalid = (reason: string): Pool => ({ ...unusable, incomplete: false, invalid: reason });
  const counting = features.partitionableDevices;
  const devices = current
    .filter(({ slice }) => !counting || !hasSharedCounters(slice))
    .flatMap(({ records }) => records);
  const counts = new Set(current.map(({ slice }) => String(slice.spec.pool.resourceSliceCount)));
  if (policies.sliceCountsMustAgree && counts.size > 1) {
    return invalid(`slices disagree on resourceSliceCount: ${[...counts].join(", ")}`);
  }
  const names = new Set<string>();
  for (const { device } of devices) {
    if (names.has(device.name)) return invalid(`duplicate device name ${device.name}`);
    names.add(device.name);
  }
  const counters = counting ? countersOf(current, all, devices) : undefined;
  if (typeof counters === "string") return invalid(counters);
  return {
    ...id,
    slices,
    devices,
    unusableDevices: [],
    counters,
    hasBindingConditions: policies.sorted && devices.some(({ device }) => hasBindingConditions(device)),
    incomplete: false,
    invalid: undefined,
  };
}

/** Returns the counters of the pool, or why they are invalid. Devices of other nodes consume them, too. */
function countersOf(
  current: readonly SliceRecord[],
  all: readonly SliceRecord[],
  devices: readonly DeviceRecord[],
): SharedCounters | string {
  const others = all.filter((record) => !current.includes(record));
  const slices = [...current, ...others].map(({ slice }) => slice).filter(hasSharedCounters);
  const devicesElsewhere = others
    .filter(({ slice }) => !hasSharedCounters(slice))
    .flatMap(({ records }) => records);
  return SharedCounters.of(slices, devices, devicesElsewhere);
}
