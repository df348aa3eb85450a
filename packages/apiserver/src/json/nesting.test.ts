import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJSON, parseJSONTree } from "@dray/api/codec";
import { checkNesting, duplicateFields } from "./nesting.ts";

test("repeated keys are found at every level, those of a level before those below it", () => {
  const { value, notes } = parseJSONTree('{"b":[{"x":1,"x":2}],"a":1,"a":{"c":1,"c":2}}');
  assert.deepEqual(duplicateFields(value, notes), [
    'duplicate field "a"',
    'duplicate field "b[0].x"',
    'duplicate field "a.c"',
  ]);
});

test("a thousand levels of nesting are rejected, however wide the object", () => {
  const nested = (depth: number): unknown => parseJSON(`${"[".repeat(depth)}${"]".repeat(depth)}`);
  checkNesting([nested(900), nested(900)]);
  assert.throws(() => checkNesting(nested(2000)), { message: "exceeded max depth" });
});
