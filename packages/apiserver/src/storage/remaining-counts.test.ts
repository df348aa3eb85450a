import assert from "node:assert/strict";
import { test } from "node:test";
import { RemainingCounts } from "./remaining-counts.ts";

test("counts are cached by collection and token, the oldest are evicted", () => {
  const counts = new RemainingCounts();
  for (let index = 0; index <= 10_000; index++) counts.set("/registry/pods/a/", `t${index}`, index);
  assert.equal(counts.get("/registry/pods/a/", "t10000"), 10_000);
  assert.equal(counts.get("/registry/pods/a/", "t1"), 1);
  assert.equal(counts.get("/registry/pods/a/", "t0"), undefined);
  assert.equal(counts.get("/registry/pods/b/", "t1"), undefined);
});
