import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJSON } from "@dray/api/codec";
import { checkNesting, duplicateFields } from "./nesting.ts";

test("keys that a text repeats are found at every level, a level's own first", () => {
  const tree = parseJSON('{"b":[{"x":1,"x":2}],"a":1,"a":{"c":1,"c":2}}');
  assert.deepEqual(duplicateFields(tree), [
    'duplicate field "a"',
    'duplicate field "b[0].x"',
    'duplicate field "a.c"',
  ]);
});

test("what is nested a thousand times is refused, however wide it is", () => {
  const nested = (depth: number): unknown => parseJSON(`${"[".repeat(depth)}${"]".repeat(depth)}`);
  checkNesting([nested(900), nested(900)]);
  assert.throws(() => checkNesting(nested(2000)), { message: "exceeded max depth" });
});
