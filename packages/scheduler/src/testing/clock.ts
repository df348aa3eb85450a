import type { Clock } from "@dray/client";

/** A fake clock. */
export interface FakeClock extends Clock {
  pass(milliseconds: number): void;
}

export function fakeClock(): FakeClock {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    after(milliseconds, run) {
      const timer = { at: now + milliseconds, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(milliseconds) {
      const end = now + milliseconds;
      for (;;) {
        const next = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.run();
      }
      now = end;
    },
  };
}
