import assert from "node:assert/strict";
import { test } from "node:test";
import { Random, seedOr } from "@dray/testing/random";
import { LongList } from "./long-list.ts";

test("changes like an array, whatever the order of changes", () => {
  const random = new Random(seedOr(7));
  const array = Array.from({ length: 5_000 }, (_, index): unknown => index);
  const list = LongList.of(array);
  assert.ok(list instanceof LongList);
  for (let round = 0; round < 20_000; round++) {
    const index = random.below(array.length + 1);
    const change = random.below(array.length > 3_000 ? 4 : 2);
    if (change === 0 || index === array.length) {
      array.splice(index, 0, round);
      list.insert(index, round);
    } else if (change === 1) {
      array[index] = -round;
      list.set(index, -round);
    } else {
      array.splice(index, 1);
      list.remove(index);
    }
    const one = random.below(array.length);
    assert.equal(list.at(one), array[one]);
  }
  assert.equal(list.length, array.length);
  assert.deepEqual([...list], array);
});

test("can be emptied, and filled again", () => {
  const list = LongList.of(new Array<number>(4_096).fill(0)) as LongList;
  while (list.length > 0) list.remove(list.length - 1);
  assert.deepEqual([...list], []);
  for (let item = 0; item < 5_000; item++) list.insert(list.length, item);
  assert.equal(list.at(4_999), 4_999);
});

test("short lists are arrays", () => {
  assert.deepEqual(LongList.of([1]), [1]);
});
