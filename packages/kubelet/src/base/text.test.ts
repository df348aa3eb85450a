import assert from "node:assert/strict";
import { test } from "node:test";
import { shortened } from "./text.ts";

test("a text that is too long is shortened to the limit, with a mark", () => {
  assert.equal(shortened("a".repeat(1024)), "a".repeat(1024));
  const long = shortened("a".repeat(5_000_000));
  assert.equal(long.length, 1024);
  assert.match(long, /^a+\.\.\. \(5000000 characters, shortened\)$/);
  // Half of a surrogate pair would be malformed.
  assert.ok(shortened(`x${"😀".repeat(1000)}`, 101).isWellFormed());
});
