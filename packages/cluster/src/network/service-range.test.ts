import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { claimServiceRange } from "./service-range.ts";

test("a cluster gets its range again, and another one while that is taken", async () => {
  const dataDir = randomUUID();
  const first = await claimServiceRange(dataDir);
  assert.match(first.cidr, /^127\.(6[4-9]|[789]\d|1[01]\d|12[0-7])\.\d+\.0\/20$/);
  assert.equal(first.first, first.cidr.replace(/0\/20$/, "1"));
  const second = await claimServiceRange(dataDir, first.cidr);
  assert.notEqual(second.cidr, first.cidr);
  first.release();
  const third = await claimServiceRange(randomUUID(), first.cidr);
  assert.equal(third.cidr, first.cidr);
  second.release();
  third.release();
});
