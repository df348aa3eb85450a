import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "@dray/client";
import { type Waiting, WaitingBytes } from "./waiting-bytes.ts";

function handClock(): Clock & { pass(milliseconds: number): Promise<void> } {
  let now = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    after(milliseconds, run) {
      const timer = { at: now + milliseconds, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async pass(milliseconds) {
      now += milliseconds;
      for (const timer of [...timers]) {
        if (timer.at > now || !timers.delete(timer)) continue;
        timer.run();
      }
      await new Promise(setImmediate);
    },
  };
}

const held = (bytes: number, name: string, cut: string[], progress = () => 0): Waiting => ({
  bytes,
  progress,
  cutOff: () => cut.push(name),
});

test("who reads in time is never cut off: others wait until there is room", async () => {
  const clock = handClock();
  const waiting = new WaitingBytes(clock, 100);
  const cut: string[] = [];
  const releaseA = waiting.hold(held(60, "a", cut));
  const releaseB = waiting.hold(held(40, "b", cut));
  let entered = false;
  const room = waiting.room(60).then(() => {
    entered = true;
  });
  await clock.pass(9_000);
  assert.equal(entered, false);
  releaseB();
  await clock.pass(50);
  assert.equal(entered, false);
  releaseA();
  await room;
  assert.deepEqual(cut, []);
  assert.ok(waiting.hasRoom(100));
});

test("who holds room that others need and reads nothing is cut off, the longest first, and no more than it takes", async () => {
  const clock = handClock();
  const waiting = new WaitingBytes(clock, 100);
  const cut: string[] = [];
  for (const name of ["a", "b", "c"]) {
    waiting.hold(held(30, name, cut));
    await clock.pass(10);
  }
  // Alone they may hold it.
  await clock.pass(20_000);
  assert.deepEqual(cut, []);
  await waiting.room(60);
  assert.deepEqual(cut, ["a", "b"]);
});

test("who is slow but reads is not cut off before those that do not", async () => {
  const clock = handClock();
  const waiting = new WaitingBytes(clock, 100);
  const cut: string[] = [];
  let read = 0;
  waiting.hold(held(50, "slow", cut, () => read));
  await clock.pass(10);
  waiting.hold(held(50, "dead", cut));
  await clock.pass(20_000);
  read = 1000;
  await waiting.room(50);
  assert.deepEqual(cut, ["dead"]);
});

test("one event that is larger than the limit goes through alone", async () => {
  const waiting = new WaitingBytes(handClock(), 100);
  await waiting.room(1000);
  const release = waiting.hold(held(1000, "a", []));
  assert.equal(waiting.hasRoom(1), false);
  release();
  assert.equal(waiting.hasRoom(1000), true);
});
