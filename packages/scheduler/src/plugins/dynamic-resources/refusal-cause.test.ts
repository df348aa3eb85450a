import assert from "node:assert/strict";
import { test } from "node:test";
import { type Allocator, allocatorFeatures, createAllocator } from "@dray/allocator";
import { featuresOf } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { Device, DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { partial } from "@dray/testing/partial";
import { causeOf } from "./refusal-cause.ts";

const metadata = (name: string) => ({
  name,
  namespace: "d",
  uid: name,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
});

const node = (name: string): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: metadata(name),
  spec: {},
  status: {},
});

const claim = (name: string, exactly: object = {}, status?: object): ResourceClaim =>
  partial<ResourceClaim>({
    kind: "ResourceClaim",
    metadata: metadata(name),
    spec: {
      devices: {
        requests: [
          {
            name: "r",
            exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1, ...exactly },
          },
        ],
      },
    },
    ...(status && { status }),
  });

/** Devices by node; those of the class are of driver gpu.example.com. */
function allocatorWith(
  nodes: Readonly<Record<string, readonly Device[]>>,
  held: readonly ResourceClaim[] = [],
): Allocator {
  let shares = 0;
  const allocator = createAllocator({
    features: allocatorFeatures(featuresOf()),
    newId: () => String(shares++),
  });
  const gpu = {
    kind: "DeviceClass",
    metadata: metadata("gpu"),
    spec: { selectors: [{ cel: { expression: "device.attributes[device.driver].gpu" } }] },
  };
  allocator.update({ kind: "class", object: partial<DeviceClass>(gpu), deleted: false });
  for (const [name, devices] of Object.entries(nodes)) {
    const pool = { name, generation: 1, resourceSliceCount: 1 };
    const object = {
      kind: "ResourceSlice",
      metadata: metadata(name),
      spec: { driver: "gpu.example.com", nodeName: name, pool, devices },
    };
    allocator.update({ kind: "slice", object: partial<ResourceSlice>(object), deleted: false });
  }
  for (const object of held) allocator.update({ kind: "claim", object, deleted: false });
  return allocator;
}

const device = (name: string, gpu = true, more: Partial<Device> = {}): Device => ({
  name,
  attributes: { gpu: { bool: gpu } },
  ...more,
});

test("the cause names the node that lacks least and what ruled out its devices, without other claims", () => {
  const results = ["a", "b"].map((name) => ({
    request: "r",
    driver: "gpu.example.com",
    pool: "n2",
    device: name,
  }));
  const held = claim("held", { count: 2 }, { allocation: { devices: { results } } });
  const taints = [{ key: "broken", effect: "NoSchedule" as const }];
  const allocator = allocatorWith(
    { n1: [device("x", false)], n2: [device("a"), device("b"), device("c", true, { taints }), device("d")] },
    [held],
  );
  const wanted = claim("c", { count: 2 });
  const refused = ["n0", "n1", "n2"].map((name) => ({ node: node(name), claims: [wanted] }));
  assert.equal(
    causeOf(allocator, refused),
    "Node n2: claim d/c, request r: wants 2 of class gpu, 1 of 4 devices suitable: 2 in use, 1 untolerated taint broken:NoSchedule.",
  );
  // No node has a device of the class.
  assert.equal(causeOf(allocator, refused.slice(0, 2)), undefined);
});

test("the cause is that of a node with devices of the class, however many others come before it", () => {
  const taints = [{ key: "broken", effect: "NoSchedule" as const }];
  const nodes: Record<string, readonly Device[]> = { last: [device("a", true, { taints })] };
  for (let i = 0; i < 20; i++) nodes[`n${i}`] = [device("x", false)];
  const refused = [...Array.from({ length: 20 }, (_, i) => `n${i}`), "last"].map((name) => ({
    node: node(name),
    claims: [claim("c")],
  }));
  assert.equal(
    causeOf(allocatorWith(nodes), refused),
    "Node last: claim d/c, request r: wants 1 of class gpu, 0 of 1 devices suitable: 1 untolerated taint broken:NoSchedule.",
  );
});

test("a node that can serve the claims meanwhile has no cause", () => {
  assert.equal(
    causeOf(allocatorWith({ n: [device("a")] }), [{ node: node("n"), claims: [claim("c")] }]),
    undefined,
  );
});
