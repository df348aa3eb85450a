import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { ItemBackOff } from "./item-back-off.ts";

test("the delay doubles with each attempt up to the maximum", () => {
  const clock = fakeClock();
  const backOff = new ItemBackOff(clock, 10, 50);
  assert.equal(backOff.delay("a"), 0);
  assert.equal(backOff.left("a"), 0);
  const delays = Array.from({ length: 5 }, () => {
    backOff.next("a");
    return backOff.delay("a");
  });
  assert.deepEqual(delays, [10, 20, 40, 50, 50]);
  assert.equal(backOff.delay("b"), 0);
});

test("a delay begins at the event, or else at the last attempt", () => {
  const clock = fakeClock();
  const backOff = new ItemBackOff(clock, 10, 50);
  backOff.next("a");
  clock.advance(4);
  assert.equal(backOff.left("a"), 6);
  assert.equal(backOff.left("a", clock.now()), 10);
  clock.advance(6);
  assert.equal(backOff.left("a"), 0);
});

test("after twice the maximum without an attempt, a key starts again", () => {
  const clock = fakeClock();
  const backOff = new ItemBackOff(clock, 10, 50);
  backOff.next("a");
  backOff.next("a");
  clock.advance(90);
  const ended = clock.now();
  // The wait after the end does not count as quiet.
  clock.advance(50);
  backOff.next("a", ended);
  assert.equal(backOff.delay("a"), 40);
  clock.advance(101);
  assert.equal(backOff.left("a", clock.now()), 0);
  backOff.next("a");
  assert.equal(backOff.delay("a"), 10);
});

test("keys are forgotten alone or by prefix", () => {
  const clock = fakeClock();
  const backOff = new ItemBackOff(clock, 10, 50);
  for (const key of ["a/1", "a/2", "b/1", "b/2"]) backOff.next(key);
  backOff.forgetAll("a/");
  backOff.forget("b/1");
  assert.deepEqual(
    ["a/1", "a/2", "b/1", "b/2"].map((key) => backOff.delay(key)),
    [0, 0, 0, 10],
  );
});
