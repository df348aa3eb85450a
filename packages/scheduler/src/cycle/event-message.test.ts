import assert from "node:assert/strict";
import { test } from "node:test";
import { eventMessage } from "./event-message.ts";

test("the cause goes behind the standard words, within 1,024 characters", () => {
  assert.equal(
    eventMessage("0/1 nodes are available.", "Node a: why."),
    "0/1 nodes are available. Node a: why.",
  );
  assert.equal(eventMessage("words"), "words");
  const long = eventMessage("w".repeat(1000), "c".repeat(100));
  assert.equal(long, `${"w".repeat(1000)} ${"c".repeat(19)} ...`);
  assert.equal(long.length, 1024);
});

test("standard words that fill the message leave no room for a cause", () => {
  assert.equal(eventMessage("w".repeat(1022), "cause"), "w".repeat(1022));
  const cut = eventMessage("w".repeat(2000), "cause");
  assert.equal(cut, `${"w".repeat(1020)} ...`);
});
