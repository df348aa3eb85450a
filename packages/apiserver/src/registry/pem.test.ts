import assert from "node:assert/strict";
import { test } from "node:test";
import { pemBlocks } from "./pem.ts";

test("a block goes up to the first end of its type", () => {
  const text =
    "x\n-----BEGIN A-----\r\n1\n-----END B-----\n-----END A-----\n-----BEGIN B-----\n2\n-----END B-----\n";
  assert.deepEqual(
    [...pemBlocks(text)].map(({ type, body }) => [type, body]),
    [
      ["A", "1\n-----END B-----\n"],
      ["B", "2\n"],
    ],
  );
  assert.equal([...pemBlocks(text)][1]!.block, "-----BEGIN B-----\n2\n-----END B-----");
  assert.deepEqual([...pemBlocks("-----BEGIN A-----\nnever ends")], []);
});

test("blocks that never end are none, however many begin", { timeout: 60_000 }, () => {
  // To look for the end of each in all of the rest takes hours.
  assert.deepEqual([...pemBlocks("-----BEGIN A-----\n".repeat(1_000_000))], []);
});
