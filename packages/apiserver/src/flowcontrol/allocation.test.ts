import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { allocate } from "./allocation.ts";
import { SeatDemand } from "./demand.ts";
import { RetryAfter } from "./retry-after.ts";

const share = (target: number, lower: number, upper: number) => ({ target, lower, upper });
const rounded = (amounts: readonly number[]): number[] =>
  amounts.map((amount) => Math.round(amount * 100) / 100);

test("a sum is divided in proportion to the targets", () => {
  const { amounts, fraction } = allocate(30, [share(5, 0, 100), share(10, 0, 100)]);
  assert.deepEqual(rounded(amounts), [10, 20]);
  assert.equal(fraction, 2);
});

test("bounds limit some shares, and the others divide the rest", () => {
  assert.deepEqual(rounded(allocate(30, [share(20, 20, 100), share(20, 0, 100)]).amounts), [20, 10]);
  assert.deepEqual(rounded(allocate(30, [share(10, 0, 5), share(10, 0, 100)]).amounts), [5, 25]);
  // Without any demand, all get the same.
  assert.deepEqual(rounded(allocate(30, [share(0, 0, 100), share(0, 0, 100)]).amounts), [15, 15]);
  assert.deepEqual(rounded(allocate(1, [share(4, 2, 9), share(3, 3, 9)]).amounts), [2, 3]);
  assert.deepEqual(rounded(allocate(99, [share(4, 2, 9), share(3, 3, 8)]).amounts), [9, 8]);
});

test("demand is averaged over time", () => {
  const demand = new SeatDemand(0);
  demand.set(4, 0);
  demand.set(0, 500);
  assert.deepEqual(demand.summary(1000), { average: 2, deviation: 2, highest: 4 });
  assert.deepEqual(demand.summary(2000), { average: 0, deviation: 0, highest: 0 });
  assert.equal(demand.summary(2000), undefined);
});

/** Upstream: dropped_requests_tracker.go */
test("Retry-After of an overloaded level grows, and falls after the overload", () => {
  const clock = fakeClock();
  const retryAfter = new RetryAfter();
  const note = (count: number): void => {
    for (let index = 0; index < count; index++) retryAfter.note(clock.now());
  };
  note(10);
  assert.equal(retryAfter.seconds, 1);
  clock.advance(1000);
  note(10);
  assert.equal(retryAfter.seconds, 2);
  clock.advance(1000);
  note(10);
  assert.equal(retryAfter.seconds, 2, "it is raised once in that time");
  clock.advance(1000);
  note(10);
  assert.equal(retryAfter.seconds, 4);
  clock.advance(60_000);
  note(1);
  assert.equal(retryAfter.seconds, 3);
});
