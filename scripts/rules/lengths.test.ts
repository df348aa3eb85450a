import assert from "node:assert/strict";
import { test } from "node:test";
import { lengths } from "./lengths.ts";
import { createSource } from "./source.ts";

const found = (text: string): string[] =>
  lengths([createSource("a.ts", text)]).map(({ line, text }) => `${line ?? "file"} ${text}`);

/** Returns a text of `count` lines. */
const lines = (count: number): string => "f();\n".repeat(count);

test("a file may have 400 lines", () => {
  assert.deepEqual(found(lines(400)), []);
  assert.deepEqual(found(lines(401)), ["file has 401 lines: more than 400"]);
});

for (const [kind, before, after] of [
  ["function", "function a() {\n", "}\n"],
  ["arrow function", "const a = () => {\n", "};\n"],
  ["method", "class A { a() {\n", "} }\n"],
] as const)
  test(`a ${kind} may have 100 lines`, () => {
    assert.deepEqual(found(`\n${before}${lines(98)}${after}`), []);
    assert.deepEqual(found(`\n${before}${lines(99)}${after}`), ["2 a function of 101 lines: more than 100"]);
  });
