import type { ResourceSlice } from "@dray/api/resource/v1";
import type { DeviceRecord } from "../devices/device-record.ts";
import type { NodeSelection } from "../devices/node-selection.ts";
import type { Features } from "../features/features.ts";

/** A slice with its devices. */
export interface SliceRecord {
  readonly slice: ResourceSlice;
  /** The nodes that the slice names as a whole; undefined if it names none. */
  readonly nodes: NodeSelection | undefined;
  readonly records: readonly DeviceRecord[];
  /** Order in which the names of slices were first seen. */
  readonly order: number;
  readonly generation: bigint;
}

/** Returns `driver/pool`. */
export const poolKey = ({ spec }: ResourceSlice): string => `${spec.driver}/${spec.pool.name}`;

/**
 * Slices that use a disabled feature are ignored, though most of them count for the completeness of their
 * pool.
 */
export function isEnabled(slice: ResourceSlice, features: Features): boolean {
  if (!features.compatibilityGroups && usesCompatibilityGroups(slice)) return false;
  if (features.partitionableDevices) return true;
  return slice.spec.perDeviceNodeSelection === undefined && !hasSharedCounters(slice);
}

export function hasSharedCounters({ spec }: ResourceSlice): boolean {
  return spec.sharedCounters !== undefined && spec.sharedCounters.length > 0;
}

export function usesCompatibilityGroups({ spec }: ResourceSlice): boolean {
  return (spec.devices ?? []).some((device) =>
    (device.consumesCounters ?? []).some(({ compatibilityGroups }) => (compatibilityGroups ?? []).length > 0),
  );
}
