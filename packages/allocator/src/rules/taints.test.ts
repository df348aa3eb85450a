import assert from "node:assert/strict";
import { test } from "node:test";
import { allocatorWith, claim, node, slice } from "../testing/all-features.ts";

test("a toleration with an unknown operator tolerates nothing", () => {
  const allocator = allocatorWith(slice("s", [{ name: "d", taints: [{ key: "k", effect: "NoSchedule" }] }]));
  const asked = claim("c", { tolerations: [{ key: "k", operator: "toString" }] });
  assert.equal(allocator.allocate(node, [asked]).type, "refused");
});
