/** Runs the allocator under test with the inputs of the reference. */
import assert from "node:assert/strict";
import { type AllocateResult, type Allocator, createAllocator, type Features } from "@dray/allocator";
import type { AllocationResult, DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import { makeClaim } from "./clusters.ts";
import type { Allocated, Answer, Question } from "./reference.ts";

export function featuresOf(names: readonly string[]): Features {
  const on = (name: string): boolean => names.includes(name);
  return {
    adminAccess: on("AdminAccess"),
    prioritizedList: on("PrioritizedList"),
    partitionableDevices: on("PartitionableDevices"),
    deviceTaints: on("DeviceTaints"),
    consumableCapacity: on("ConsumableCapacity"),
    deviceBindingAndStatus: on("DeviceBindingAndStatus"),
    fractionalCapacityRange: on("FractionalCapacityRange"),
    listTypeAttributes: on("ListTypeAttributes"),
    derivedAttributes: on("DerivedAttributes"),
    compatibilityGroups: on("CompatibilityGroups"),
    optionalNodeOperations: on("OptionalNodeOperations"),
  };
}

/** Random problems use the same few selectors: each is compiled once. */
const environment = deviceEnvironment({ stored: true });

/** An allocator for an empty cluster, whose ids are UUIDs that count up. */
export function emptyAllocator(features: readonly string[]): Allocator {
  let ids = 0;
  return createAllocator({
    features: featuresOf(features),
    environment,
    newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`,
  });
}

/** An allocator for the cluster of a question. */
export function allocatorOf({ features, slices, classes, allocated }: Question): Allocator {
  const allocator = emptyAllocator(features);
  for (const object of slices) allocator.update({ kind: "slice", object, deleted: false });
  for (const object of classes) allocator.update({ kind: "class", object, deleted: false });
  for (const object of holdersOf(allocated)) allocator.update({ kind: "claim", object, deleted: false });
  return allocator;
}

export function withAllocation(claim: ResourceClaim, allocation: AllocationResult): ResourceClaim {
  return { ...claim, status: { allocation } };
}

/**
 * Claims that have the allocated devices. One share of a device gets what all its shares consume together.
 */
function holdersOf({ devices = [], shared = [], capacity = {} }: Allocated = {}): ResourceClaim[] {
  const left = new Map(Object.entries(capacity));
  const results = [...devices, ...shared].map((id): DeviceRequestAllocationResult => {
    const [driver = "", pool = "", device = "", shareID] = id.split("/");
    const key = `${driver}/${pool}/${device}`;
    const consumed = shareID === undefined ? undefined : left.get(key);
    if (consumed !== undefined) left.delete(key);
    return {
      request: "r",
      driver,
      pool,
      device,
      ...(shareID === undefined ? {} : { shareID }),
      ...(consumed === undefined ? {} : { consumedCapacity: { ...consumed } }),
    };
  });
  assert.equal(left.size, 0, "capacity is consumed by shares only");
  return results.map((result, i) =>
    withAllocation(makeClaim(`holder-${i}`, {}), { devices: { results: [result] } }),
  );
}

/** Resumes a search until it ends. */
export function finished(result: AllocateResult): Exclude<AllocateResult, { type: "stopped" }> {
  let last = result;
  for (let stops = 0; last.type === "stopped"; stops++) {
    assert.ok(stops < 100_000, "a search that is resumed again and again does not end");
    last = last.resume();
  }
  return last;
}

/** The result in the form of the reference, with shares named in order. */
export function answerOf(result: AllocateResult): Answer {
  const { type, ...rest } = finished(result);
  if (type === "allocated")
    return { allocations: named((rest as { allocations: AllocationResult[] }).allocations) };
  const { message } = rest as { message: string };
  if (type === "error") return { error: message };
  return message === "cannot allocate all claims" ? { allocations: null } : { nodeError: message };
}

function named(allocations: readonly AllocationResult[]): AllocationResult[] {
  const seen = new Set<string>();
  return allocations.map(({ devices = {}, ...allocation }) => ({
    ...allocation,
    devices: {
      ...devices,
      results: (devices.results ?? []).map((result) => {
        if (result.shareID === undefined) return result;
        assert.match(result.shareID, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        assert.ok(!seen.has(result.shareID), "two shares have the same id");
        const shareID = `share-${seen.size}`;
        seen.add(result.shareID);
        return { ...result, shareID };
      }),
    },
  }));
}

/** Freezes the value and all objects in it. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) frozen(item);
  }
  return value;
}
