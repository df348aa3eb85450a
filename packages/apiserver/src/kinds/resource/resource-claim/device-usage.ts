import type { AllocationResult, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Storage } from "../../../storage/storage.ts";

export type DeviceUsageEvent =
  | { readonly kind: "slice"; readonly object: ResourceSlice; readonly deleted: boolean }
  | { readonly kind: "claim"; readonly object: ResourceClaim; readonly deleted: boolean };

/**
 * Adds up what claims take of counters and capacity. The allocator does, which the server must not import.
 */
export interface DeviceUsage {
  update(event: DeviceUsageEvent): void;
  /**
   * Takes what the allocation needs until the function that it returns is called; returns why it cannot be
   * had.
   */
  reserve(claim: ResourceClaim, allocation: AllocationResult): (() => void) | string;
}

/**
 * A claim without its version: it counts as it is, be it older than what was seen before, or not stored yet.
 */
export function unversioned(claim: object): ResourceClaim {
  const { metadata, ...rest } = claim as ResourceClaim;
  return { ...rest, metadata: { ...metadata, resourceVersion: "" } };
}

/** Tells `usage` of all slices and claims, now and whenever they change. */
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
  // A store that was restored from a copy has older versions again.
  follow("resourceclaims", (object, deleted) => ({ kind: "claim", object: unversioned(object), deleted }));
}
