import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { type Waiting, WaitingBytes } from "./waiting-bytes.ts";

const event = (bytes: number): Uint8Array => new Uint8Array(bytes);

/** Creates watchers by name; `cut` lists those that were disconnected. */
function watchers(waiting: WaitingBytes) {
  const cut: string[] = [];
  const hold = (name: string, of: Uint8Array, copied = 0, progress = () => 0) => {
    const one: Waiting = { event: of, copied, progress, abort: () => cut.push(name) };
    return waiting.hold(one);
  };
  return { cut, hold };
}

test("an event counts once, however many watchers wait with it; copies count individually", () => {
  const waiting = new WaitingBytes(fakeClock(), 1000);
  const { hold } = watchers(waiting);
  const shared = event(100);
  const releases = [hold("a", shared, 10), hold("b", shared, 10), hold("c", event(50), 5)];
  assert.equal(waiting.total, 175);
  releases[0]!();
  releases[0]!();
  assert.equal(waiting.total, 165);
  for (const release of releases) release();
  assert.equal(waiting.total, 0);
});

test("below the limit no watcher is disconnected", async () => {
  const clock = fakeClock();
  const waiting = new WaitingBytes(clock, 100);
  const { cut, hold } = watchers(waiting);
  hold("a", event(100));
  await clock.advanceInSteps(60_000, 10);
  assert.deepEqual(cut, []);
});

test("above the limit the slowest watchers are disconnected after a second, as few as necessary", async () => {
  const clock = fakeClock();
  const waiting = new WaitingBytes(clock, 100);
  const { cut, hold } = watchers(waiting);
  for (const name of ["a", "b", "c", "d"]) {
    hold(name, event(30));
    await clock.advanceInSteps(10, 10);
  }
  await clock.advanceInSteps(950, 10);
  assert.deepEqual(cut, []);
  await clock.advanceInSteps(20, 10);
  assert.deepEqual(cut, ["a"]);
  assert.equal(waiting.total, 90);
});

test("far above the limit watchers are disconnected at once", async () => {
  const clock = fakeClock();
  const waiting = new WaitingBytes(clock, 100);
  const { cut, hold } = watchers(waiting);
  hold("a", event(90));
  hold("b", event(90));
  await clock.advanceInSteps(0, 10);
  assert.deepEqual(cut, []);
  hold("c", event(90));
  await clock.advanceInSteps(0, 10);
  assert.deepEqual(cut, ["a"]);
});

test("watchers that read are disconnected last", async () => {
  const clock = fakeClock();
  const waiting = new WaitingBytes(clock, 100);
  const { cut, hold } = watchers(waiting);
  let read = 0;
  hold("slow", event(60), 0, () => read);
  await clock.advanceInSteps(10, 10);
  hold("silent", event(60));
  read = 1000;
  await clock.advanceInSteps(2000, 10);
  assert.deepEqual(cut, ["silent"]);
});
