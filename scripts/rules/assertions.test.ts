import assert from "node:assert/strict";
import { test } from "node:test";
import { assertions } from "./assertions.ts";
import { createSource } from "./source.ts";

const linesOf = (text: string, path = "packages/a/src/a.ts"): unknown[] =>
  assertions([createSource(path, text)]).map(({ line }) => line);

test("an assertion needs a comment beside it", () => {
  assert.deepEqual(linesOf("const a = map.get(key)!;\nf(\n  a.b!,\n);"), [1, 3]);
  assert.deepEqual(linesOf("const a = b!.c[0]!;\nconst d = e.at(-1)!.f;\n// Later.\n"), [1, 2]);
  assert.deepEqual(linesOf("// Elsewhere.\nconst d = 1;\nconst a = b!;"), [3]);
  for (const text of [
    "// Why.\nconst a = map.get(key)!;",
    "/** Why. */\nexport const a = f(\n  b!,\n);",
    "const a = b!; // Why.",
    "function f() {\n  // Why.\n  return b!;\n}",
  ])
    assert.deepEqual(linesOf(text), [], text);
});

test("tests, other folders, and elements of lists need none", () => {
  assert.deepEqual(linesOf("const a = b!;", "packages/a/src/a.test.ts"), []);
  assert.deepEqual(linesOf("const a = b!;", "packages/a/src/testing/a.ts"), []);
  assert.deepEqual(linesOf("const a = b!;", "bench/a.ts"), []);
  assert.deepEqual(linesOf("const a = list[0]!.b[i]!; const c = !d; list[i]!++;"), []);
});
