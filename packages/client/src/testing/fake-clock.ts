import type { Clock } from "../clock.ts";

/** A fake clock: time passes only with `advance`. */
export function fakeClock(): Clock & { advance(milliseconds: number): void } {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    after(milliseconds, run) {
      const timer = { at: now + milliseconds, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(milliseconds) {
      now += milliseconds;
      for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.run();
    },
  };
}

/** Waits for some turns of the event loop. */
export async function eventLoopTurns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve, 2));
}
