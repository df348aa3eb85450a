import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonPatch } from "./json-patch.ts";

const copyTo = (path: string): object => ({ op: "copy", from: "/a", path });

test("a copy does not change with its source", () => {
  const patched = jsonPatch({ a: { x: [1] } }, [
    { op: "add", path: "/a/y", value: 2 },
    copyTo("/b"),
    { op: "add", path: "/a/x/0", value: 0 },
    { op: "remove", path: "/b/y" },
  ]);
  assert.deepEqual(patched, { a: { x: [0, 1], y: 2 }, b: { x: [1] } });
});

test("neither the patched object nor the values of the patch are modified", () => {
  const object = { a: { x: [1] } };
  const value = { y: {} };
  const operations = [
    { op: "add", path: "/a/x/-", value },
    { op: "add", path: "/a/x/1/y/z", value: 3 },
  ];
  assert.deepEqual(jsonPatch(object, operations), { a: { x: [1, { y: { z: 3 } }] } });
  assert.deepEqual([object, value], [{ a: { x: [1] } }, { y: {} }]);
});

test("copies are rejected once they add three megabytes", () => {
  const doubling = Array.from({ length: 40 }, (_, index) => copyTo(`/a/k${index}`));
  assert.throws(() => jsonPatch({ a: {} }, doubling), { message: /rejected our request/ });
  assert.equal(Object.keys(jsonPatch({ a: {} }, doubling.slice(0, 10))["a"] as object).length, 10);
});
