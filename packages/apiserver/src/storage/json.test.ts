import assert from "node:assert/strict";
import { test } from "node:test";
import { deepEqual } from "./json.ts";

test("an undefined field equals an absent one, on either side", () => {
  assert.equal(deepEqual({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(deepEqual({ a: 1 }, { a: 1, b: undefined }), true);
  assert.equal(deepEqual({ a: 1, b: undefined }, { a: 1, b: 2 }), false);
  assert.equal(deepEqual({ a: 1, b: 2 }, { a: 1, b: undefined }), false);
});
