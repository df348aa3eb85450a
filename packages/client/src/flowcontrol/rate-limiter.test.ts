import assert from "node:assert/strict";
import { test } from "node:test";
import {
  controllerRateLimiter,
  createWorkQueue,
  exponentialBackoff,
  silentLog,
  tokenBucket,
} from "@dray/client";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";

test("each key backs off alone, doubled up to the maximum delay, until it is forgotten", () => {
  const limiter = exponentialBackoff(1, 1000);
  assert.deepEqual(
    Array.from({ length: 12 }, () => limiter.when("a")),
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000],
  );
  assert.deepEqual([limiter.when("b"), limiter.failures("a"), limiter.failures("b")], [1, 12, 1]);
  limiter.forget("a");
  assert.deepEqual([limiter.failures("a"), limiter.when("a")], [0, 1]);
  for (let i = 0; i < 2000; i++) limiter.when("b");
  assert.equal(limiter.when("b"), 1000);
});

test("a bucket allows its burst at once and then its rate, even if the clock is set back", () => {
  const clock = fakeClock();
  const bucket = tokenBucket(clock, 10, 3);
  const take = (count: number): number[] => Array.from({ length: count }, () => bucket.when("k"));
  assert.deepEqual(take(5), [0, 0, 0, 100, 200]);
  clock.advance(300);
  assert.deepEqual(take(2), [0, 100]);
  clock.advance(-5_000);
  assert.deepEqual(take(1), [200]);
  clock.advance(60_000);
  assert.deepEqual(take(4), [0, 0, 0, 100]);
});

test("controllers: the longer of 5 ms per key and 10 a second for all keys after 100", () => {
  const limiter = controllerRateLimiter(fakeClock());
  assert.deepEqual([limiter.when("a"), limiter.when("a"), limiter.when("b")], [5, 10, 5]);
  for (let i = 3; i < 100; i++) limiter.when(`k${i}`);
  assert.deepEqual([limiter.when("c"), limiter.when("d")], [100, 200]);
  assert.equal(limiter.failures("a"), 2);
});

test("a queue: addRateLimited in a reconcile continues the back-off, which ends without it", async () => {
  const clock = fakeClock();
  const began = clock.now();
  const times: number[] = [];
  let left = 3;
  const queue = createWorkQueue({
    name: "t",
    clock,
    log: silentLog,
    baseDelay: 10,
    async reconcile(key) {
      times.push(clock.now() - began);
      if (left-- > 0) queue.addRateLimited(key);
    },
  });
  queue.add("k");
  await eventLoopTurns(1);
  for (let i = 0; i < 10; i++) {
    clock.advance(10);
    await eventLoopTurns(1);
  }
  assert.deepEqual(times, [0, 10, 30, 70]);
  left = 1;
  queue.add("k");
  await eventLoopTurns(1);
  clock.advance(10);
  await eventLoopTurns(1);
  assert.deepEqual(times.slice(4), [100, 110]);
  await queue.close();
});

test("a queue: a custom limiter is used", async () => {
  const clock = fakeClock();
  let runs = 0;
  const queue = createWorkQueue({
    name: "t",
    clock,
    log: silentLog,
    rateLimiter: exponentialBackoff(7_000, 7_000),
    async reconcile() {
      runs++;
      throw new Error("not yet");
    },
  });
  queue.add("k");
  await eventLoopTurns(1);
  clock.advance(6_999);
  await eventLoopTurns(1);
  assert.equal(runs, 1);
  clock.advance(1);
  await eventLoopTurns(1);
  assert.equal(runs, 2);
  await queue.close();
});
