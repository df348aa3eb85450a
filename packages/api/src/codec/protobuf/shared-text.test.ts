import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedText } from "./shared-text.ts";

const read = (text: string): string | undefined => {
  const bytes = Buffer.from(`<${text}>`);
  return sharedText(bytes, 1, bytes.length - 1);
};

test("a short text is what its bytes say, however many others there were", () => {
  const texts = Array.from({ length: 50_000 }, (_, i) => `pod-${i}`);
  for (const text of texts) assert.equal(read(text), text);
  for (const text of ["", "a", "a".repeat(64)]) assert.equal(read(text), text);
});

test("a text that is long or no ASCII is left to others", () => {
  assert.equal(read("a".repeat(65)), undefined);
  assert.equal(read("pöd"), undefined);
});
