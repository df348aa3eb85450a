import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceTaintRule, ResourceClaim } from "@dray/api/resource/v1";
import {
  allocate,
  allocatorWith,
  claim,
  devicesOf,
  node,
  slice,
  twoDevices,
} from "../testing/single-node.ts";

const many = slice(
  "p",
  Array.from({ length: 12 }, (_, i) => ({ name: `d${i}`, attributes: { index: { int: i } } })),
);
const only = (name: string, index: number): ResourceClaim =>
  claim(name, 1, `device.attributes["gpu.example.com"].index == ${index}`);
// The last claim needs what the second one tries first: hundreds of combinations come before the solution.
const slow = [only("third", 3), claim("any", 5), only("first", 0)];

test("a search that is stopped at every step returns the same result", () => {
  const allocator = allocatorWith(many);
  const refused = [claim("any", 5), claim("none", 1, 'device.driver == "no" || false')];
  let turns = 0;
  let result = allocator.allocate(node, refused, { shouldStop: () => true });
  while (result.type === "stopped") {
    turns++;
    result = result.resume();
  }
  assert.ok(turns > 3, `stopped ${turns} times`);
  assert.deepEqual(result, allocator.allocate(node, refused));
  assert.equal(result.type, "refused");
});

for (const [index, type] of [
  [3, "refused"],
  [1, "allocated"],
] as const) {
  test(`device d${index} is reserved while the search is stopped: the result is ${type}, without it`, () => {
    const allocator = allocatorWith(many);
    let result = allocator.allocate(node, slow, { shouldStop: () => true });
    assert.equal(result.type, "stopped");
    const quick = only("quick", index);
    allocator.reserve([quick], [allocate(allocator, quick)!]);
    while (result.type === "stopped") result = result.resume();
    assert.equal(result.type, type);
    const given = result.type === "allocated" ? result.allocations.flatMap(devicesOf) : [];
    assert.ok(!given.includes(`p/d${index}`), "allocated twice");
  });
}

test("a device that is tainted while the search is stopped is not allocated", () => {
  const allocator = allocatorWith(twoDevices);
  const asked = claim("c", 2);
  const stopped = allocator.allocate(node, [asked], { shouldStop: () => true });
  assert.ok(stopped.type === "stopped");
  const rule: DeviceTaintRule = {
    apiVersion: "resource.k8s.io/v1beta2",
    kind: "DeviceTaintRule",
    metadata: { name: "r", uid: "", resourceVersion: "", creationTimestamp: "" },
    spec: { deviceSelector: { device: "d0" }, taint: { key: "k", effect: "NoSchedule" } },
  };
  allocator.update({ kind: "rule", object: rule, deleted: false });
  let result = stopped.resume();
  while (result.type === "stopped") result = result.resume();
  assert.equal(result.type, "refused");
});
