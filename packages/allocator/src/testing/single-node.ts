/** One node, one class and one kind of claim, for tests of single rules. */
import assert from "node:assert/strict";
import { type Allocator, allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { AllocationResult, DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";

export const meta = (name: string): ResourceClaim["metadata"] => ({
  name,
  namespace: "default",
  uid: `uid-of-${name}`,
  resourceVersion: "",
  creationTimestamp: "",
});

export const node: Node = { apiVersion: "v1", kind: "Node", metadata: meta("worker"), spec: {}, status: {} };
export const gpuClass: DeviceClass = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: meta("gpu"),
  spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] },
};

export function slice(name: string, devices: NonNullable<ResourceSlice["spec"]["devices"]>): ResourceSlice {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: meta(name),
    spec: {
      driver: "gpu.example.com",
      nodeName: "worker",
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices,
    },
  };
}

export function claim(name: string, count = 1, expression?: string): ResourceClaim {
  const selectors = expression === undefined ? {} : { selectors: [{ cel: { expression } }] };
  const exactly = { deviceClassName: "gpu", allocationMode: "ExactCount", count, ...selectors };
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: meta(name),
    spec: { devices: { requests: [{ name: "r", exactly }] } },
  };
}

/** A claim as stored by a server. */
export function stored(object: ResourceClaim, version: number, allocation?: AllocationResult): ResourceClaim {
  const metadata = { ...object.metadata, resourceVersion: String(version) };
  return { ...object, metadata, ...(allocation === undefined ? {} : { status: { allocation } }) };
}

/** An allocator with the class `gpu` and these slices. */
export function allocatorWith(...slices: ResourceSlice[]): Allocator {
  const on = [
    "DRAAdminAccess",
    "DRAPrioritizedList",
    "DRADeviceTaints",
    "DRAConsumableCapacity",
    "DRAPartitionableDevices",
  ];
  const features = allocatorFeatures({ enabled: (gate) => on.includes(gate) });
  let ids = 0;
  const allocator = createAllocator({ features, newId: () => `share-${ids++}` });
  allocator.update({ kind: "class", object: gpuClass, deleted: false });
  for (const object of slices) allocator.update({ kind: "slice", object, deleted: false });
  return allocator;
}

/** Returns the allocation, or undefined if the node refuses the claim. */
export function allocate(allocator: Allocator, object: ResourceClaim): AllocationResult | undefined {
  const result = allocator.allocate(node, [object]);
  if (result.type === "refused") return undefined;
  assert.equal(result.type, "allocated", JSON.stringify(result));
  return result.type === "allocated" ? result.allocations[0] : undefined;
}

/** The allocated devices, `pool/device` or `pool/device/shareID`. */
export const devicesOf = (allocation: AllocationResult | undefined): string[] =>
  (allocation?.devices?.results ?? []).map(
    ({ pool, device, shareID }) => `${pool}/${device}${shareID === undefined ? "" : `/${shareID}`}`,
  );
/** Passes the state of a claim, or its deletion, to the allocator. */
export const update = (allocator: Allocator, object: ResourceClaim, deleted = false): void =>
  allocator.update({ kind: "claim", object, deleted });

export const oneDevice = slice("p", [{ name: "d" }]);
export const twoDevices = slice("p", [{ name: "d0" }, { name: "d1" }]);
