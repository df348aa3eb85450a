import type { Clock } from "../clock.ts";

/** Time that passes when the test says so. */
export function handClock(): Clock & { pass(milliseconds: number): void } {
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
      now += milliseconds;
      for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.run();
    },
  };
}

/** Some turns of the event loop. */
export async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve, 2));
}
