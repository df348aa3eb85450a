import type { ResourceSlice } from "@dray/api/resource/v1";
import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { PoolCounters } from "../rules/shared-counters.ts";

/** A slice and its devices. */
export interface Entry {
  readonly slice: ResourceSlice;
  /** When it was first seen. */
  readonly order: number;
  readonly records: readonly DeviceRecord[];
  readonly generation: bigint;
}

export interface Pool {
  readonly driver: string;
  readonly name: string;
  /** Slices of its generation are missing: it is being updated. */
  readonly incomplete: boolean;
  /** Why its slices contradict each other. */
  readonly invalid: string | undefined;
  /** Devices that its slices offer to the node; each may still be for another one (perDeviceNodeSelection). */
  readonly devices: readonly DeviceRecord[];
  /** Devices of a pool that cannot be used, incomplete or invalid as it is. */
  readonly withheld: readonly DeviceRecord[];
  readonly counters: PoolCounters | undefined;
  /** One of its devices has binding conditions. */
  readonly binds: boolean;
}

/** `driver/pool` */
export const poolKey = ({ spec }: ResourceSlice): string => `${spec.driver}/${spec.pool.name}`;

/** One pool as a node sees it: `current` are the slices for the node, `all` those of the generation. */
export function makePool(
  current: readonly Entry[],
  all: readonly Entry[],
  complete: boolean,
  { features, policies }: { readonly features: Features; readonly policies: Policies },
): Pool {
  const { driver, pool } = current[0]!.slice.spec;
  const known = { driver, name: pool.name };
  const withheld = current.flatMap(({ records }) => records);
  const unusable = { devices: [], withheld, counters: undefined, binds: false };
  if (!complete) return { ...known, ...unusable, incomplete: true, invalid: undefined };
  const counting = features.partitionableDevices;
  const own = current.filter(({ slice }) => !counting || !hasCounters(slice));
  const devices = own.flatMap(({ records }) => records);
  const invalid = (reason: string): Pool => ({ ...known, ...unusable, incomplete: false, invalid: reason });
  const counts = new Set(current.map(({ slice }) => String(slice.spec.pool.resourceSliceCount)));
  if (policies.sliceCountsMustAgree && counts.size > 1) {
    return invalid(`slices disagree on resourceSliceCount: ${[...counts].join(", ")}`);
  }
  const names = new Set<string>();
  for (const { device } of devices) {
    if (names.has(device.name)) return invalid(`duplicate device name ${device.name}`);
    names.add(device.name);
  }
  let counters: PoolCounters | undefined;
  if (counting) {
    const others = all.filter((entry) => !current.includes(entry));
    const slices = [...current, ...others].map(({ slice }) => slice).filter(hasCounters);
    const elsewhere = others.filter(({ slice }) => !hasCounters(slice)).flatMap(({ records }) => records);
    const found = PoolCounters.of(slices, devices, elsewhere);
    if (typeof found === "string") return invalid(found);
    counters = found;
  }
  const binds = policies.sorted && devices.some(({ device }) => hasBindingConditions(device));
  return { ...known, devices, withheld: [], counters, binds, incomplete: false, invalid: undefined };
}

/** Slices of a feature that is off take no part, though most count for the completeness of their pool. */
export function isKnown(slice: ResourceSlice, features: Features): boolean {
  if (!features.compatibilityGroups && hasGroups(slice)) return false;
  if (features.partitionableDevices) return true;
  return slice.spec.perDeviceNodeSelection === undefined && !hasCounters(slice);
}

export function hasCounters({ spec }: ResourceSlice): boolean {
  return spec.sharedCounters !== undefined && spec.sharedCounters.length > 0;
}

export function hasGroups({ spec }: ResourceSlice): boolean {
  return (spec.devices ?? []).some((device) =>
    (device.consumesCounters ?? []).some(({ compatibilityGroups }) => (compatibilityGroups ?? []).length > 0),
  );
}
