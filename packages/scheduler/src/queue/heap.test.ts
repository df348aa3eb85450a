import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Heap } from "./heap.ts";

interface Item {
  readonly key: number;
}

test("items come in their order, whatever was removed in between", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ key: fc.integer({ min: 0, max: 50 }), removed: fc.boolean() })),
      (entries) => {
        const heap = new Heap<Item>((a, b) => a.key < b.key);
        for (const entry of entries) heap.add(entry);
        const left = entries.filter((entry) => !entry.removed);
        for (const entry of entries) if (entry.removed) assert.equal(heap.delete(entry), true);
        assert.equal(heap.size, left.length);
        const popped: number[] = [];
        for (let item = heap.pop(); item !== undefined; item = heap.pop()) popped.push(item.key);
        assert.deepEqual(
          popped,
          left.map(({ key }) => key).sort((a, b) => a - b),
        );
      },
    ),
  );
});

test("an item is in the heap once", () => {
  const heap = new Heap<Item>((a, b) => a.key < b.key);
  const item = { key: 1 };
  heap.add(item);
  heap.add(item);
  assert.equal(heap.size, 1);
  assert.equal(heap.has(item), true);
  assert.equal(heap.pop(), item);
  assert.equal(heap.has(item), false);
  assert.equal(heap.delete(item), false);
  assert.equal(heap.peek(), undefined);
});
