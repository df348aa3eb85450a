import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJsonPath } from "./json-path.ts";
import { findAll } from "./json-path-find.ts";

const object = {
  a: { "b.c": 1, b: { c: 5 }, d: null },
  list: [
    { type: "Ready", status: "True", n: 1 },
    { type: "Other", status: "False", n: 2 },
  ],
};

const cases: readonly (readonly [string, readonly unknown[] | undefined])[] = [
  [".a['b.c']", [5]],
  [".a['b\\.c']", [1]],
  [".a['d','b']", [null, { c: 5 }]],
  [".list[0:3].n", undefined],
  [".list[:1].n", [1]],
  [".list[0:2:2].n", [1]],
  ["..c", [5]],
  [".a.*", [1, { c: 5 }, null]],
  [".list[?(@.none)].n", []],
  [".list[?(@.none==1)].n", []],
  ['.list[?(@.n>"1")].type', undefined],
  [".list[?(@.n>=1.0)].type", undefined],
  [".a.b\\.c", [1]],
  [".a.none.more", []],
  [".list[0].type", ["Ready"]],
  [".list[-1].type", ["Other"]],
  [".list[2].type", undefined],
  [".list[*].n", [1, 2]],
  [".list[0:1].n", [1]],
  ['.list[?(@.type=="Ready")].status', ["True"]],
  [".list[?(@.n>1)].type", ["Other"]],
  [".list.type", []],
];

test("a path finds values, finds nothing, or does not match", () => {
  for (const [text, found] of cases) assert.deepEqual(findAll(parseJsonPath(text)!, object), found, text);
});

test("an invalid path is detected", () => {
  for (const text of ["a", ".a[", ".a[x]", '.a["x"]', ".a[?(x)]", "....a"])
    assert.equal(parseJsonPath(text), undefined, text);
});
