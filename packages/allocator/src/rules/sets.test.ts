import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { areEqual, intersection, isDisjoint } from "./sets.ts";

const sets = fc.array(fc.constantFrom("a", "b", "c", "d", "e")).map((elements) => new Set(elements));

test("the functions return what the methods of Set return, in the same order", () => {
  fc.assert(
    fc.property(sets, sets, (a, b) => {
      assert.deepEqual([...intersection(a, b)], [...a.intersection(b)]);
      assert.equal(isDisjoint(a, b), a.isDisjointFrom(b));
      assert.equal(areEqual(a, b), a.symmetricDifference(b).size === 0);
    }),
  );
});
