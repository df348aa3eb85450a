import type { AllocationResult, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Storage } from "../../storage/storage.ts";

export type DeviceUsageEvent =
  | { readonly kind: "slice"; readonly object: ResourceSlice; readonly deleted: boolean }
  | { readonly kind: "claim"; readonly object: ResourceClaim; readonly deleted: boolean };

/**
 * Sums up the counters and capacity that claims consume. The allocator implements it, which the server must
 * not import.
 */
export interface DeviceUsage {
  update(event: DeviceUsageEvent): void;
  /**
   * Reserves the counters and capacity of an allocation until the returned function is called; returns the
   * reason if they are not available.
   */
  reserve(claim: ResourceClaim, allocation: AllocationResult): (() => void) | string;
}

/**
 * Returns a claim without its resourceVersion: it counts as it is, even if older than the last known one or
 * not stored yet.
 */
export function unversioned(claim: object): ResourceClaim {
  const { metadata, ...rest } = claim as ResourceClaim;
  return { ...rest, metadata: { ...metadata, resourceVersion: "" } };
}

/** Reports all slices and claims to `usage`, now and on each change. */
export function followDevices(storage: Storage, usage: DeviceUsage): void {
  const follow = (resource: string, event: (object: object, deleted: boolean) => DeviceUsageEvent): void => {
    const cache = storage.cache(resource);
    for (const { object } of cache.range(cache.prefix)) usage.update(event(object, false));
    cache.subscribe(({ type, object }) => usage.update(event(object, type === "DELETED")));
  };
  follow("resourceslices", (object, deleted) => ({
    kind: "slice",
    object: object as ResourceSlice,
    deleted,
  }));
  // A store restored from a backup has older versions again.
  follow("resourceclaims", (object, deleted) => ({ kind: "claim", object: unversioned(object), deleted }));
}
