import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJSONTree } from "./parser.ts";
import { countValues, TooManyValuesError } from "./value-count.ts";

test("counts fields, keys and elements at any depth", () => {
  const tree = { a: [1, { b: null }], c: "text" };
  for (const [value, count] of [
    [tree, 5],
    [[[[]]], 2],
    ["text", 0],
    [null, 0],
  ] as const) {
    assert.equal(countValues(value, count), count);
    if (count > 0) assert.throws(() => countValues(value, count - 1), TooManyValuesError);
    assert.equal(parseJSONTree(JSON.stringify(value), count).values, count);
    if (count > 0) assert.throws(() => parseJSONTree(JSON.stringify(value), count - 1), { limit: count - 1 });
  }
  assert.equal(countValues(tree, 3, tree.a), 2);
});

test("ends at the first value above the limit, before the rest of the text is read", () => {
  assert.throws(() => parseJSONTree(`[1, 2, 3, x`, 2), TooManyValuesError);
  // A repeated key counts each time.
  assert.throws(() => parseJSONTree(`{"a": 1, "a": 2}`, 1), TooManyValuesError);
});
