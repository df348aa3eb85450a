import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type Clock, createWorkQueue, MetricsRegistry, silentLog, WorkQueueMetrics } from "@dray/client";

/** A queue whose reconciles end when a test resolves them, and a clock that a test moves. */
function fixture() {
  const registry = new MetricsRegistry();
  const metrics = new WorkQueueMetrics(registry);
  let now = 0;
  const timers = new Set<() => void>();
  const clock: Clock = {
    now: () => now,
    after: (_, run) => {
      timers.add(run);
      return () => timers.delete(run);
    },
  };
  const running = new Map<string, PromiseWithResolvers<void>>();
  const queue = createWorkQueue({
    ...{ name: "q", clock, log: silentLog, metrics },
    reconcile(key) {
      running.set(key, Promise.withResolvers());
      return running.get(key)!.promise;
    },
  });
  return {
    queue,
    running,
    advance(seconds: number) {
      now += seconds * 1000;
    },
    fireTimers() {
      for (const run of timers) run();
    },
    value(name: string): number {
      const line = registry
        .text()
        .split("\n")
        .find((line) => line.startsWith(`workqueue_${name}{name="q"} `));
      return Number(line?.split(" ")[1]);
    },
  };
}

test("depth, adds, and the seconds that keys wait and are worked on", async () => {
  const { queue, running, advance, value } = fixture();
  for (const key of ["a", "a", "b"]) queue.add(key);
  assert.deepEqual([value("adds_total"), value("depth")], [2, 2]);
  await setImmediate();
  assert.equal(value("depth"), 1, "a runs");
  queue.add("a");
  queue.add("a");
  assert.deepEqual([value("adds_total"), value("depth")], [3, 2], "while it runs, it waits once");
  advance(2);
  assert.deepEqual([value("unfinished_work_seconds"), value("longest_running_processor_seconds")], [2, 2]);
  running.get("a")!.resolve();
  await setImmediate();
  assert.deepEqual([value("work_duration_seconds_sum"), value("work_duration_seconds_count")], [2, 1]);
  assert.deepEqual([value("queue_duration_seconds_sum"), value("queue_duration_seconds_count")], [2, 2]);
  assert.deepEqual([value("unfinished_work_seconds"), value("depth")], [0, 1], "b runs");
});

test("a key that is added after a delay is a retry", async () => {
  const { queue, running, fireTimers, value } = fixture();
  queue.add("a");
  await setImmediate();
  running.get("a")!.reject(new Error("not yet"));
  await setImmediate();
  assert.deepEqual([value("retries_total"), value("adds_total"), value("depth")], [1, 1, 0]);
  fireTimers();
  assert.deepEqual([value("retries_total"), value("adds_total")], [1, 2]);
  queue.addAfter("b", 10);
  assert.equal(value("retries_total"), 2);
});

test("a closed queue has no gauges", async () => {
  const { queue, value } = fixture();
  assert.equal(value("depth"), 0);
  await queue.close();
  assert.ok(Number.isNaN(value("depth")));
});
