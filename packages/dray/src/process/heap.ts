import { flushCompileCache } from "node:module";
import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Limits V8's heap. With V8's own limit a server's memory is twice its live size; with this one a third more,
 * for a few percent of its time. A flag of the process would slow down the start: Node and we keep compiled
 * code, which V8 accepts only with the same flags.
 */
export function keepHeapSmall(): void {
  flushCompileCache();
  setFlagsFromString("--heap-growing-percent=30");
  collectWhenIdle();
}

/**
 * Also limits V8's young generation to its current size, for a process whose work comes in bursts and leaves
 * little behind. After one burst V8 would keep 128 MB for it.
 */
export function keepYoungHeapSmall(): void {
  keepHeapSmall();
  setFlagsFromString("--semi-space-growth-factor=1");
}

/**
 * Interval of the checks in milliseconds, maximum CPU fraction of an idle process, and minimum garbage of a
 * collection.
 */
const checkInterval = 10_000;
const idleBelow = 0.05;
const worthCollecting = 16 * 2 ** 20;

let looks = false;

/**
 * Collects garbage when the process is idle. V8 collects only when new objects come: after thousands of
 * watches or pods have ended, an idle process would keep their memory. The live size after a collection is
 * the baseline of the next one, so that an idle process collects once.
 */
export function collectWhenIdle(milliseconds = checkInterval): void {
  if (looks) return;
  looks = true;
  flushCompileCache();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (how: { type: "major"; execution: "async" }) => Promise<void>;
  let before = performance.eventLoopUtilization();
  let live = getHeapStatistics().used_heap_size;
  setInterval(async () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const used = getHeapStatistics().used_heap_size;
    live = Math.min(live, used);
    if (utilization > idleBelow || used - live < worthCollecting) return;
    await collect({ type: "major", execution: "async" });
    live = getHeapStatistics().used_heap_size;
  }, milliseconds).unref();
}
