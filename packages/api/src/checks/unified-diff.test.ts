import assert from "node:assert/strict";
import test from "node:test";
import { unifiedDiff } from "./unified-diff.ts";

const lines = (...texts: string[]): string => texts.join("\n");

test("a diff has three equal lines around each change, and counts lines from 1", () => {
  const from = lines("a", "b", "c", "d", "e", "f", "g", "h");
  const to = lines("a", "b", "c", "d", "E", "f", "g", "h");
  const wanted = lines("@@ -2,7 +2,7 @@", " b", " c", " d", "-e", "+E", " f", " g", " h", "");
  assert.equal(unifiedDiff(from, to), wanted);
});

test("distant changes are separate hunks", () => {
  const middle = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const diff = unifiedDiff(lines("x", ...middle, "y"), lines("X", ...middle, "Y"));
  assert.equal(diff.match(/^@@/gm)?.length, 2);
  assert.ok(diff.startsWith("@@ -1,4 +1,4 @@\n-x\n+X\n line 0\n"));
});

test("a diff of an added line counts it, one of equal texts is empty", () => {
  assert.equal(unifiedDiff("a", "a\nb"), "@@ -1 +1,2 @@\n a\n+b\n");
  assert.equal(unifiedDiff("same", "same"), "");
});

test("a diff of texts that differ everywhere is cut at 1 MiB", () => {
  const text = (version: string): string =>
    Array.from({ length: 40_000 }, (_, index) => `name ${index}\nvalue ${version} of ${index}`).join("\n");
  const diff = unifiedDiff(text("old"), text("new"));
  assert.ok(diff.startsWith("@@ -1,80000 +1,80000 @@\n name 0\n-value old of 0\n+value new of 0\n name 1\n"));
  assert.ok(diff.endsWith("\n...\n"));
  assert.ok(diff.length < 2 ** 20 + 100);
});
