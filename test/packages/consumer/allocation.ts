/** Allocates a device for a claim, with `@dray/allocator` and the types of `@dray/api`. */
import { allocatorFeatures, createAllocator } from "@dray/allocator";
import { featuresOf } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";

const metadata = (name: string) => ({
  name,
  namespace: "",
  uid: name,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
});

const node: Node = { apiVersion: "v1", kind: "Node", metadata: metadata("node-1"), spec: {} };
const slice: ResourceSlice = {
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: metadata("slice"),
  spec: {
    driver: "gpu.example.com",
    nodeName: "node-1",
    pool: { name: "node-1", generation: 1, resourceSliceCount: 1 },
    devices: [
      { name: "gpu-0", attributes: { model: { string: "a10" } } },
      { name: "gpu-1", attributes: { model: { string: "a100" } } },
    ],
  },
};
const deviceClass: DeviceClass = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: metadata("gpu"),
  spec: { selectors: [{ cel: { expression: 'device.attributes["gpu.example.com"].model == "a100"' } }] },
};
const claim: ResourceClaim = {
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { ...metadata("claim"), namespace: "default" },
  spec: {
    devices: {
      requests: [
        { name: "gpu", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 } },
      ],
    },
  },
};

const allocator = createAllocator({
  features: allocatorFeatures(featuresOf("1.37")),
  newId: () => "00000000-0000-4000-8000-000000000000",
});
allocator.update({ kind: "slice", object: slice, deleted: false });
allocator.update({ kind: "class", object: deviceClass, deleted: false });
const result = allocator.allocate(node, [claim]);
const devices =
  result.type === "allocated"
    ? result.allocations.flatMap(
        (allocation) => allocation.devices?.results?.map(({ device }) => device) ?? [],
      )
    : [];

declare const console: { log(text: string): void };
console.log(JSON.stringify({ type: result.type, devices }));
