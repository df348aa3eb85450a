import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "./random.ts";

test("numbers are those of mulberry32", () => {
  const random = new Random(1);
  const numbers = Array.from({ length: 3 }, () => random.next());
  assert.deepEqual(numbers, [0.6270739405881613, 0.002735721180215478, 0.5274470399599522]);
});

test("choices stay within their bounds", () => {
  const random = new Random(2);
  for (let i = 0; i < 1000; i++) {
    assert.ok([0, 1, 2].includes(random.below(3)));
    assert.ok([5, 6].includes(random.int(5, 6)));
    assert.equal(random.chance(0), false);
    assert.equal(random.chance(1), true);
    assert.ok(["a", "b"].includes(random.pick(["a", "b"])));
    assert.deepEqual(random.shuffled([3, 1, 2]).toSorted(), [1, 2, 3]);
  }
  assert.deepEqual(random.some([1, 2], 1), [1, 2]);
  assert.deepEqual(random.list(2, 2, String), ["0", "1"]);
  assert.throws(() => random.pick([]), RangeError);
});
