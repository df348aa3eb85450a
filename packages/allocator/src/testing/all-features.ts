/** Slices and claims with all features enabled, for cases that random clusters seldom show. */
import assert from "node:assert/strict";
import type { Allocator } from "@dray/allocator";
import type { Device, ExactDeviceRequest, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { allFeatures, classes, driver, makeClaim, makeSlice, nodes } from "./clusters.ts";
import { emptyAllocator, withAllocation } from "./engine.ts";

export const [node, otherNode] = nodes as readonly [(typeof nodes)[number], (typeof nodes)[number]];

/** An allocator with these slices. */
export function allocatorWith(...slices: readonly ResourceSlice[]): Allocator {
  const allocator = emptyAllocator(allFeatures);
  for (const object of classes) allocator.update({ kind: "class", object, deleted: false });
  for (const object of slices) allocator.update({ kind: "slice", object, deleted: false });
  return allocator;
}

export function slice(name: string, devices: readonly Device[], more: Partial<ResourceSlice["spec"]> = {}) {
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
  return makeSlice(name, { driver, pool, nodeName: node.metadata.name, devices: [...devices], ...more });
}

export function claim(name: string, ...requests: readonly Partial<ExactDeviceRequest>[]): ResourceClaim {
  return makeClaim(name, {
    requests: requests.map((request, i) => ({
      name: `r${i}`,
      exactly: { deviceClassName: "any", allocationMode: "ExactCount", count: 1, ...request },
    })),
  });
}

/** Devices d0, d1, ... */
export const namedDevices = (count: number): Device[] =>
  Array.from({ length: count }, (_, i) => ({ name: `d${i}` }));

/** Allocates one device to the claim, and returns the claim as stored. */
export function allocateAndStore(allocator: Allocator, object: ResourceClaim, where = node): ResourceClaim {
  const result = allocator.allocate(where, [object]);
  assert.equal(result.type, "allocated");
  const stored = withAllocation(object, result.type === "allocated" ? result.allocations[0]! : {});
  allocator.update({ kind: "claim", object: stored, deleted: false });
  return stored;
}
