import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceInUseError } from "@dray/allocator";
import type { Device } from "@dray/api/resource/v1";
import { allocatorWith, claim, node, slice } from "../testing/all-features.ts";

test("reserve throws if a capacity is used up, also right after an update of the slice", () => {
  const shared: Device = {
    name: "d",
    allowMultipleAllocations: true,
    capacity: { memory: { value: "3" } },
  };
  const allocator = allocatorWith(slice("s", [shared]));
  const asked = ["a", "b"].map((name) => claim(name, { capacity: { requests: { memory: "2" } } }));
  const results = asked.map((one) => allocator.allocate(node, [one]));
  allocator.update({ kind: "slice", object: slice("s", [{ ...shared, attributes: {} }]), deleted: false });
  const reserve = (i: number) => {
    const result = results[i]!;
    assert.ok(result.type === "allocated");
    return allocator.reserve([asked[i]!], result.allocations);
  };
  reserve(0);
  assert.throws(() => reserve(1), DeviceInUseError);
});
