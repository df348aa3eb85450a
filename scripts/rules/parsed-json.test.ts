import assert from "node:assert/strict";
import { test } from "node:test";
import { parsedJson } from "./parsed-json.ts";
import { createSource } from "./source.ts";

const linesOf = (text: string, path = "packages/a/src/a.ts"): unknown[] =>
  parsedJson([createSource(path, text)]).map(({ line }) => line);

test("parsed JSON may have null in every field", () => {
  for (const text of [
    "const { items = [] } = JSON.parse(text) as { items?: string[] };",
    "const a = decodeJSON(await read()) as List;",
    "const a = (JSON.parse(text) ?? {}) as Answer;",
    "const { names = [] } = JSON.parse(text) as readonly Image[];",
  ])
    assert.deepEqual(linesOf(text), [1], text);
});

test("types that have null or say nothing are accepted, and a comment that says who writes the text", () => {
  for (const text of [
    "const a = JSON.parse(text) as Wire<List>;",
    "const a = JSON.parse(text) as unknown;",
    "const a: unknown = JSON.parse(text);",
    "const a = JSON.parse(text) as { readonly kind?: unknown; name: unknown };",
    "const a = decodeJSON(text) as Record<string, unknown>;",
    "// Written by this program.\nconst a = JSON.parse(text) as Kept;",
    "const a = parse(text) as List;",
  ])
    assert.deepEqual(linesOf(text), [], text);
  assert.deepEqual(linesOf("const a = JSON.parse(text) as List;", "packages/a/src/a.test.ts"), []);
});
