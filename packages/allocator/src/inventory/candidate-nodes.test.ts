import assert from "node:assert/strict";
import { test } from "node:test";
import {
  allocateAndStore,
  allocatorWith,
  claim,
  namedDevices,
  node,
  otherNode,
  slice,
} from "../testing/all-features.ts";
import { makeSlice } from "../testing/clusters.ts";

test("a claim that exceeds the maximum number of devices is an error on every node: the index rules out none", () => {
  const allocator = allocatorWith(slice("s", namedDevices(4)));
  const asked = claim("c", { count: 20 }, { count: 20 });
  assert.equal(allocator.allocate(node, [asked]).type, "error");
  assert.equal(allocator.candidates([asked]), undefined);
});

test("freeing a device frees its counters for the other nodes of the pool", () => {
  const pool = { name: "p", generation: 1, resourceSliceCount: 3 };
  const consumesCounters = [{ counterSet: "s", counters: { c: { value: "1" } } }];
  const { devices: _, ...counters } = slice("c", [], { pool }).spec;
  const allocator = allocatorWith(
    slice("a", [{ name: "a", consumesCounters }], { pool }),
    slice("b", [{ name: "b", consumesCounters }], { pool, nodeName: otherNode.metadata.name }),
    makeSlice("c", { ...counters, sharedCounters: [{ name: "s", counters: { c: { value: "1" } } }] }),
  );
  const asked = [claim("asked", {})];
  const has = (): boolean | undefined => allocator.candidates(asked)?.has(otherNode.metadata.name);
  assert.equal(has(), true);
  const object = allocateAndStore(allocator, claim("holder", {}));
  assert.equal(allocator.allocate(otherNode, asked).type, "refused");
  assert.equal(has(), false);
  allocator.update({ kind: "claim", object, deleted: true });
  assert.equal(allocator.allocate(otherNode, asked).type, "allocated");
  assert.equal(has(), true);
});
