import type { Clock } from "@dray/client";

/** The system's clock, of which a test can skip any time. */
export interface SkipClock extends Clock {
  /** Advances the clock at once; due callbacks run in order. */
  skip(milliseconds: number): void;
}

export function skipClock(): SkipClock {
  let skipped = 0;
  const timers = new Set<{ at: number; run: () => void; cancel: () => void }>();
  const now = (): number => Date.now() + skipped;
  return {
    now,
    after(milliseconds, run) {
      const fire = (): void => {
        if (!timers.delete(timer)) return;
        timer.cancel();
        run();
      };
      const timeout = setTimeout(fire, Math.min(milliseconds, 2 ** 31 - 1));
      timeout.unref();
      const timer = { at: now() + milliseconds, run: fire, cancel: () => clearTimeout(timeout) };
      timers.add(timer);
      return () => {
        timer.cancel();
        timers.delete(timer);
      };
    },
    skip(milliseconds) {
      skipped += milliseconds;
      for (const timer of [...timers].sort((a, b) => a.at - b.at)) if (timer.at <= now()) timer.run();
    },
  };
}
