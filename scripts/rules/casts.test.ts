import assert from "node:assert/strict";
import { test } from "node:test";
import { casts } from "./casts.ts";
import { createSource } from "./source.ts";

const linesOf = (text: string, path = "packages/a/src/a.ts"): unknown[] =>
  casts([createSource(path, text)]).map(({ line }) => line);

test("a cast through unknown needs a comment beside it", () => {
  assert.deepEqual(linesOf("const a = b as unknown as C;\nf(b as unknown as C);"), [1, 2]);
  assert.deepEqual(linesOf("const a = { b: 1 as unknown as C };\n// Later.\n"), [1]);
  assert.deepEqual(linesOf("// Elsewhere.\nconst d = 1;\nconst a = b as unknown as C;"), [3]);
});

test("the comment is before the statement or property, in it, or on the line of the cast", () => {
  for (const text of [
    "// Why.\nconst a = b as unknown as C;",
    "/** Why. */\nexport const a = f(\n  b,\n) as unknown as C;",
    "const a = {\n  // Why.\n  b: 1 as unknown as C,\n};",
    "const a = b as unknown as C; // Why.",
    "function f() {\n  // Why.\n  return b as unknown as C;\n}",
  ])
    assert.deepEqual(linesOf(text), [], text);
});

test("tests, other folders, and casts that the compiler checks need none", () => {
  const text = "const a = b as unknown as C;";
  assert.deepEqual(linesOf(text, "packages/a/src/a.test.ts"), []);
  assert.deepEqual(linesOf(text, "bench/a.ts"), []);
  assert.deepEqual(linesOf("const a = b as C as D; const e = b as unknown;"), []);
});
