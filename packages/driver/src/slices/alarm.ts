import { type Clock, sleep } from "@dray/client";
import { aborted } from "../shared/aborted.ts";

/** Rings once at the earliest of the times that it was set to, but not while it is paused. */
export function createAlarm(clock: Clock) {
  let due = Number.POSITIVE_INFINITY;
  let pausedUntil = 0;
  let wake: (() => void) | undefined;
  return {
    ring(delay: number): void {
      due = Math.min(due, clock.now() + delay);
      wake?.();
    },
    reset(): void {
      due = Number.POSITIVE_INFINITY;
    },
    /** Rings after `delay`, not earlier whatever it is set to, but for `resume`. */
    pause(delay: number): void {
      pausedUntil = clock.now() + delay;
      due = pausedUntil;
    },
    resume(): void {
      pausedUntil = 0;
    },
    async rings(signal: AbortSignal): Promise<void> {
      const left = (): number => Math.max(due, pausedUntil) - clock.now();
      while (!signal.aborted && left() > 0) {
        const changed = new AbortController();
        wake = () => changed.abort();
        const either = AbortSignal.any([signal, changed.signal]);
        if (due === Number.POSITIVE_INFINITY) await aborted(either);
        else await sleep(clock, left(), either);
      }
      wake = undefined;
    },
  };
}
