import { flushCompileCache } from "node:module";
import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * With V8's own limit a server's memory is twice what lives in it; with this one a third more, for a few
 * percent of its time. As a flag of the process it would slow down the start: Node and we keep compiled code,
 * which V8 takes only under the flags of its making.
 */
export function keepHeapSmall(): void {
  flushCompileCache();
  setFlagsFromString("--heap-growing-percent=30");
  collectWhenIdle();
}

/**
 * Keeps V8's young generation at the size that it has now, too: for a process whose work comes in bursts and
 * leaves little behind. After one burst V8 would hold 128 MB for it and never give them back.
 */
export function keepYoungHeapSmall(): void {
  keepHeapSmall();
  setFlagsFromString("--semi-space-growth-factor=1");
}

/**
 * Milliseconds between two looks at a process, the part of them in which an idle one works, and garbage worth
 * a while.
 */
const lookEvery = 10_000;
const idleBelow = 0.05;
const worthCollecting = 16 * 2 ** 20;

let looks = false;

/**
 * Has garbage collected when the process has nothing to do. V8 collects only as new objects come: after
 * thousands of watches or pods have gone, an idle process would keep their memory for good. The live size
 * after a collection is the measure for the next one, so that an idle process collects once.
 */
export function collectWhenIdle(milliseconds = lookEvery): void {
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
