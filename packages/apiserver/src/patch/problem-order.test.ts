import assert from "node:assert/strict";
import { test } from "node:test";
import { sortProblems, writtenPaths } from "./problem-order.ts";

test("problems have the order of sorted keys, those in an added value the order of the request", () => {
  const unknown = (...paths: string[]): string[] => paths.map((path) => `unknown field "${path}"`);
  const found = unknown("spec.z", "spec.a.y", "spec.a.b", "spec.items[10].x", "spec.items[9].x", "aa");
  assert.deepEqual(
    sortProblems(found),
    unknown("aa", "spec.a.b", "spec.a.y", "spec.items[9].x", "spec.items[10].x", "spec.z"),
  );
  const operations = [
    { op: "add", path: "/spec/a", value: {} },
    { op: "add", path: "/spec/items/9/x", value: 1 },
  ];
  assert.deepEqual(writtenPaths(operations), ["spec.a", "spec.items[9].x"]);
  assert.deepEqual(
    sortProblems(found, writtenPaths(operations)),
    unknown("aa", "spec.a.y", "spec.a.b", "spec.items[9].x", "spec.items[10].x", "spec.z"),
  );
});
