import assert from "node:assert/strict";
import { test } from "node:test";
import { warningHeaders } from "./warnings.ts";

test("each text is a header once, in quotes", () => {
  assert.deepEqual(warningHeaders(new Set(['a "b" \\', "c", "c", ""])), [
    '299 - "a \\"b\\" \\\\"',
    '299 - "c"',
  ]);
});

test("a text with control characters is omitted", () => {
  assert.deepEqual(warningHeaders(new Set(["two\nlines", "\u0007", "a\u0085b", "fine"])), ['299 - "fine"']);
});

test("texts are written in UTF-8", () => {
  const [header = ""] = warningHeaders(new Set(['unknown field "日本"']));
  assert.equal(Buffer.from(header, "latin1").toString("utf8"), '299 - "unknown field \\"日本\\""');
});

test("a long text is truncated, and of many the first ones stay", () => {
  assert.equal(warningHeaders(new Set(["x".repeat(4096)]))[0]!.length, 4096 + '299 - ""'.length);
  assert.equal(warningHeaders(new Set(["x".repeat(4097)]))[0]!.length, 256 + '299 - ""'.length);
  const many = Array.from({ length: 60 }, (_, index) => String(index).padEnd(300, "y"));
  const headers = warningHeaders(new Set(many));
  assert.equal(headers.length, 4096 / 256);
  assert.equal(headers[0]!.length, 256 + '299 - ""'.length);
});
