import assert from "node:assert/strict";
import { test } from "node:test";
import { Random, seedOr } from "@dray/testing/random";
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

test("long lists change, move, copy and compare like short ones", () => {
  const random = new Random(seedOr(3));
  const expected = Array.from({ length: 6_000 }, (_, index): unknown => ({ index }));
  const operations: object[] = [];
  const place = (): number => random.below(expected.length);
  for (let round = 0; round < 2_000; round++) {
    const [from, path] = [place(), place()];
    switch (random.below(5)) {
      case 0:
        operations.push({ op: "add", path: `/list/${path}`, value: round });
        expected.splice(path, 0, round);
        break;
      case 1:
        operations.push({ op: "remove", path: `/list/${path - expected.length}` });
        expected.splice(path, 1);
        break;
      case 2: {
        operations.push({ op: "move", from: `/list/${from}`, path: "/list/-" });
        expected.push(...expected.splice(from, 1));
        break;
      }
      case 3:
        operations.push({ op: "replace", path: `/list/${path}`, value: { name: "x" } });
        operations.push({ op: "add", path: `/list/${path}/round`, value: round });
        expected[path] = { name: "x", round };
        break;
      default:
        operations.push({ op: "test", path: `/list/${path}`, value: structuredClone(expected[path]) });
    }
  }
  const object = { list: Array.from({ length: 6_000 }, (_, index) => ({ index })) };
  const before = structuredClone(object);
  operations.push({ op: "test", path: "/list", value: structuredClone(expected) });
  operations.push({ op: "copy", from: "/list", path: "/copied" }, { op: "remove", path: "/copied/0" });
  assert.deepEqual(jsonPatch(object, operations), { list: expected, copied: expected.slice(1) });
  assert.deepEqual(object, before);
  const wrong = [...operations, { op: "test", path: "/list", value: expected.slice(1) }];
  assert.throws(() => jsonPatch(object, wrong), /rejected/);
});
