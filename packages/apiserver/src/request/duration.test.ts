import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDuration } from "./duration.ts";

test("durations are read as Go writes them", () => {
  assert.equal(parseDuration("1m30s"), 90_000);
  assert.equal(parseDuration("1.5h"), 5_400_000);
  assert.equal(parseDuration("-.5ms"), -0.5);
  assert.equal(parseDuration("0"), 0);
  assert.equal(parseDuration("2us"), 0.002);
});

test("what is no duration is refused in Go's words", () => {
  for (const [text, message] of [
    ["", 'time: invalid duration ""'],
    ["abc", 'time: invalid duration "abc"'],
    ["5", 'time: missing unit in duration "5"'],
    ["1h2", 'time: missing unit in duration "1h2"'],
    ["1x", 'time: unknown unit "x" in duration "1x"'],
    ["1s x", 'time: unknown unit "s x" in duration "1s x"'],
    [".s", 'time: invalid duration ".s"'],
    ["99999999999999999999h", 'time: invalid duration "99999999999999999999h"'],
  ] as const) {
    assert.throws(() => parseDuration(text), { message });
  }
});
