import assert from "node:assert/strict";
import { test } from "node:test";
import { Remainders } from "./remainders.ts";

test("counts are remembered by collection and token, the oldest are forgotten", () => {
  const remainders = new Remainders();
  for (let index = 0; index <= 10_000; index++) remainders.set("/registry/pods/a/", `t${index}`, index);
  assert.equal(remainders.get("/registry/pods/a/", "t10000"), 10_000);
  assert.equal(remainders.get("/registry/pods/a/", "t1"), 1);
  assert.equal(remainders.get("/registry/pods/a/", "t0"), undefined);
  assert.equal(remainders.get("/registry/pods/b/", "t1"), undefined);
});
