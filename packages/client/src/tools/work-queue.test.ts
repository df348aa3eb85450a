import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorkQueue, silentLog } from "@dray/client";
import { fakeClock } from "@dray/testing/clock";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a key that is added several times is reconciled once; while it runs, once more afterwards", async () => {
  const done: string[] = [];
  let release = (): void => {};
  const queue = createWorkQueue({
    name: "t",
    clock: fakeClock(),
    log: silentLog,
    async reconcile(key) {
      done.push(key);
      if (key === "slow") await new Promise<void>((resolve) => (release = resolve));
    },
  });
  for (const key of ["a", "b", "a", "slow", "slow"]) queue.add(key);
  await turn();
  assert.deepEqual(done, ["a", "b", "slow"]);
  queue.add("slow");
  queue.add("slow");
  await turn();
  assert.deepEqual(done, ["a", "b", "slow"], "one key is never worked on twice at a time");
  release();
  await turn();
  assert.deepEqual(done, ["a", "b", "slow", "slow"]);
  release();
  await queue.close();
});

test("a failing key backs off alone, and starts again after a success", async () => {
  const clock = fakeClock(0);
  const times: number[] = [];
  let fail = true;
  const queue = createWorkQueue({
    name: "t",
    clock,
    log: silentLog,
    baseDelay: 10,
    maxDelay: 40,
    async reconcile() {
      times.push(clock.now());
      if (fail) throw new Error("not yet");
    },
  });
  queue.add("k");
  await turn();
  for (let i = 0; i < 15; i++) await clock.advanceInSteps(10, 10);
  assert.deepEqual(times, [0, 10, 30, 70, 110, 150]);
  fail = false;
  await clock.advanceInSteps(40, 40);
  fail = true;
  queue.add("k");
  await turn();
  await clock.advanceInSteps(10, 10);
  assert.deepEqual(times.slice(6), [190, 190, 200]);
  await queue.close();
});

test("the earlier of two delays counts; concurrency is limited; close waits for running reconciles", async () => {
  const clock = fakeClock();
  const running = new Set<string>();
  let most = 0;
  const release: (() => void)[] = [];
  const queue = createWorkQueue({
    name: "t",
    clock,
    log: silentLog,
    concurrency: 2,
    async reconcile(key) {
      running.add(key);
      most = Math.max(most, running.size);
      await new Promise<void>((resolve) => release.push(resolve));
      running.delete(key);
    },
  });
  queue.addAfter("late", 100);
  queue.addAfter("late", 50);
  queue.addAfter("late", 200);
  await clock.advanceInSteps(49, 49);
  assert.equal(running.size, 0);
  await clock.advanceInSteps(1, 1);
  assert.deepEqual([...running], ["late"]);
  for (const key of ["a", "b", "c"]) queue.add(key);
  await turn();
  assert.deepEqual([most, queue.size], [2, 4]);
  let closed = false;
  const closing = queue.close().then(() => {
    closed = true;
  });
  await turn();
  assert.equal(closed, false);
  for (const go of release) go();
  await closing;
  assert.deepEqual([running.size, most], [0, 2], "what only waited is not begun any more");
});

for (const [what, keys] of [
  ["itself", ["a"]],
  ["another, which adds it", ["a", "b"]],
] as const)
  test(`a key whose reconcile adds ${what} does not starve I/O, and is slowed down`, async () => {
    const clock = fakeClock();
    const warnings: unknown[] = [];
    let rounds = 0;
    const queue = createWorkQueue({
      name: "t",
      clock,
      log: { ...silentLog, warn: (fields) => warnings.push(fields) },
      async reconcile(key) {
        // Without a limit a queue that never yields would hang this process.
        if (++rounds < 100_000) queue.add(keys[(keys.indexOf(key as never) + 1) % keys.length] ?? "");
      },
    });
    queue.add("a");
    for (let turns = 1; turns <= 10; turns++) {
      await turn();
      assert.ok(rounds <= (turns + 1) * keys.length, `${rounds} rounds in ${turns} turns`);
    }
    for (let turns = 0; turns < 500; turns++) await turn();
    const before = rounds;
    assert.ok(before < 200, `${before} rounds while no time passed`);
    for (let seconds = 0; seconds < 100; seconds++) await clock.advanceInSteps(1000, 1000);
    assert.ok(rounds > before, "it goes on");
    assert.ok(rounds <= before + 101 * keys.length, `${rounds - before} rounds in 100 s`);
    assert.equal(warnings.length, 1, "said once");
    await queue.close();
  });

test("a key that rests in between is not slowed down", async () => {
  const clock = fakeClock();
  let rounds = 0;
  let release: (() => void) | undefined;
  const queue = createWorkQueue({
    name: "t",
    clock,
    log: silentLog,
    async reconcile() {
      rounds++;
      if (rounds % 2 === 0) await new Promise<void>((resolve) => (release = resolve));
    },
  });
  for (let i = 1; i <= 500; i++) {
    queue.add("k");
    await turn();
    release?.();
    await turn();
    assert.equal(rounds, i);
  }
  await queue.close();
});

test("many keys without I/O are reconciled in several turns", async () => {
  let done = 0;
  const queue = createWorkQueue({
    name: "t",
    clock: fakeClock(),
    log: silentLog,
    concurrency: Number.POSITIVE_INFINITY,
    async reconcile() {
      done++;
    },
  });
  for (let i = 0; i < 1000; i++) queue.add(String(i));
  await turn();
  assert.ok(done > 0 && done < 1000, `${done} in one turn`);
  for (let i = 0; i < 20; i++) await turn();
  assert.equal(done, 1000);
  await queue.close();
});
