import assert from "node:assert/strict";
import { test } from "node:test";
import { sortElements } from "./path-element.ts";

test("values and keys of one field are sorted by value, not by text", () => {
  const values = ["b", "a", "a b", "a(", "ab", "", "a,b", "A"];
  const sorted = [...values].sort();
  assert.deepEqual(
    sortElements(values.map((value) => `v:"${value}"`)),
    sorted.map((value) => `v:"${value}"`),
  );
  assert.deepEqual(
    sortElements(values.map((value) => `k:{"name":"${value}"}`)),
    sorted.map((value) => `k:{"name":"${value}"}`),
  );
  const mixed = ['k:{"b":"a"}', 'k:{"a":"b"}', "f:x", "v:2", 'v:"1"', "v:10"];
  assert.deepEqual(sortElements([...mixed]), ["f:x", 'k:{"a":"b"}', 'k:{"b":"a"}', "v:2", "v:10", 'v:"1"']);
});
