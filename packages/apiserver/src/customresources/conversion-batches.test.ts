import assert from "node:assert/strict";
import { test } from "node:test";
import { batchesOf } from "./conversion-batches.ts";

const list = (length: number): object => ({ list: new Array<number>(length).fill(0) });
const lengths = (objects: readonly object[]): number[] => [...batchesOf(objects)].map(({ length }) => length);

test("batches are bounded by their values", () => {
  assert.deepEqual(lengths([]), []);
  assert.deepEqual(lengths([list(10), list(10)]), [2]);
  assert.deepEqual(lengths([list(20_000), list(20_000), list(20_000)]), [2, 1]);
  assert.deepEqual(lengths([list(10), list(90_000), list(10)]), [1, 1, 1]);
});

test("batches are bounded by their texts and keys", () => {
  const text = { text: "a".repeat(1_500_000) };
  assert.deepEqual(lengths([text, text]), [1, 1]);
  assert.deepEqual(lengths([{ ["k".repeat(1_500_000)]: 1 }, text]), [1, 1]);
});

test("all objects are in a batch, in their order", () => {
  const objects = Array.from({ length: 200 }, (_, index) => ({ index, ...list(1_000) }));
  assert.deepEqual([...batchesOf(objects)].flat(), objects);
});
