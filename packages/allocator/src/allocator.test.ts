import assert from "node:assert/strict";
import { test } from "node:test";
import { allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Device, ResourceSlice } from "@dray/api/resource/v1";
import {
  allocate,
  allocatorWith,
  claim,
  devicesOf,
  gpuClass,
  meta,
  node,
  slice,
} from "./testing/single-node.ts";

test("pools are searched by name, devices as published", () => {
  const allocator = allocatorWith(slice("b", [{ name: "x" }]), slice("a", [{ name: "z" }, { name: "y" }]));
  assert.deepEqual(devicesOf(allocate(allocator, claim("c", 3))), ["a/z", "a/y", "b/x"]);
});

test("an earlier request gives up its first device for a later one", () => {
  const allocator = allocatorWith(
    slice("p", [
      { name: "d0", attributes: { big: { bool: true } } },
      { name: "d1", attributes: { big: { bool: false } } },
    ]),
  );
  const big = 'device.attributes["gpu.example.com"].big';
  const result = allocator.allocate(node, [claim("any"), claim("big", 1, big)]);
  assert.equal(result.type, "allocated");
  if (result.type !== "allocated") return;
  assert.deepEqual(result.allocations.map(devicesOf), [["p/d1"], ["p/d0"]]);
});

test("verdicts are kept when `evaluated` ends a call", () => {
  const costs: number[] = [];
  const allocator = createAllocator({
    features: allocatorFeatures({ enabled: () => false }),
    newId: () => "",
    evaluated(cost) {
      costs.push(cost);
      throw new Error("over");
    },
  });
  allocator.update({ kind: "class", object: gpuClass, deleted: false });
  const devices = [0, 1, 2].map((i) => ({ name: `gpu-${i}`, attributes: { index: { int: BigInt(i) } } }));
  allocator.update({ kind: "slice", object: slice("s", devices as Device[]), deleted: false });
  const wanted = claim("c", 1, 'device.attributes["gpu.example.com"].index == 2');
  const outcome = (call: () => unknown): unknown => {
    try {
      return call();
    } catch (error) {
      return (error as Error).message;
    }
  };
  // Two selectors on each of three devices.
  for (let i = 0; i < 3; i++)
    assert.equal(
      outcome(() => allocator.candidates([wanted])?.has("worker")),
      "over",
    );
  for (let i = 0; i < 3; i++)
    assert.equal(
      outcome(() => allocator.allocate(node, [wanted])),
      "over",
    );
  assert.equal(allocator.candidates([wanted])?.has("worker"), true);
  assert.equal(allocator.allocate(node, [wanted]).type, "allocated");
  assert.equal(costs.length, 6);
  assert.ok(costs.every((cost) => cost > 0));
});

test("totals counts the devices of a class on a node, and the allocated ones", () => {
  const other = { ...slice("others", [{ name: "o" }]), metadata: meta("others") };
  const allocator = allocatorWith(slice("gpus", [{ name: "a" }, { name: "b" }, { name: "c" }]), {
    ...other,
    spec: { ...other.spec, driver: "nic.example.com" },
  } as ResourceSlice);
  assert.deepEqual(allocator.totals(node, "gpu"), { devices: 3, allocated: 0 });
  const wanted = claim("c", 2);
  const result = allocator.allocate(node, [wanted]);
  assert.equal(result.type, "allocated");
  if (result.type === "allocated") allocator.reserve([wanted], result.allocations);
  assert.deepEqual(allocator.totals(node, "gpu"), { devices: 3, allocated: 2 });
  assert.deepEqual(allocator.totals({ ...node, metadata: meta("elsewhere") }, "gpu"), {
    devices: 0,
    allocated: 0,
  });
  assert.deepEqual(allocator.totals(node, "none"), { devices: 0, allocated: 0 });
});
