import assert from "node:assert/strict";
import { test } from "node:test";
import {
  controllerRateLimiter,
  createWorkQueue,
  exponentialBackoff,
  silentLog,
  tokenBucket,
} from "@dray/client";
import { handClock, turns } from "../testing/fake-clock.ts";

test("each key backs off by itself, doubled up to the longest delay, until it is forgotten", () => {
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

test("a bucket gives its burst at once and then so many in a second, whatever the clock does", () => {
  const clock = handClock();
  const bucket = tokenBucket(clock, 10, 3);
  const take = (count: number): number[] => Array.from({ length: count }, () => bucket.when("k"));
  assert.deepEqual(take(5), [0, 0, 0, 100, 200]);
  clock.pass(300);
  assert.deepEqual(take(2), [0, 100]);
  clock.pass(-5_000);
  assert.deepEqual(take(1), [200]);
  clock.pass(60_000);
  assert.deepEqual(take(4), [0, 0, 0, 100]);
});

test("controllers: the longer of both, 5 ms for a key and 10 a second for all after 100", () => {
  const limiter = controllerRateLimiter(handClock());
  assert.deepEqual([limiter.when("a"), limiter.when("a"), limiter.when("b")], [5, 10, 5]);
  for (let i = 3; i < 100; i++) limiter.when(`k${i}`);
  assert.deepEqual([limiter.when("c"), limiter.when("d")], [100, 200]);
  assert.equal(limiter.failures("a"), 2);
});

test("a queue: work that asks for its repetition goes on backing off, and is forgotten when it no longer asks", async () => {
  const clock = handClock();
  const began = clock.now();
  const times: number[] = [];
  let left = 3;
  const queue = createWorkQueue({
    name: "t",
    clock,
    log: silentLog,
    firstDelay: 10,
    async reconcile(key) {
      times.push(clock.now() - began);
      if (left-- > 0) queue.addRateLimited(key);
    },
  });
  queue.add("k");
  await turns(1);
  for (let i = 0; i < 10; i++) {
    clock.pass(10);
    await turns(1);
  }
  assert.deepEqual(times, [0, 10, 30, 70]);
  left = 1;
  queue.add("k");
  await turns(1);
  clock.pass(10);
  await turns(1);
  assert.deepEqual(times.slice(4), [100, 110]);
  await queue.close();
});

test("a queue: a limiter of the caller's own counts", async () => {
  const clock = handClock();
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
  await turns(1);
  clock.pass(6_999);
  await turns(1);
  assert.equal(runs, 1);
  clock.pass(1);
  await turns(1);
  assert.equal(runs, 2);
  await queue.close();
});
