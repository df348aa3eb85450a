/**
 * A clock whose time passes only when the test says so. Is a `Clock` of @dray/client and a `StoreClock` of
 * @dray/store.
 */
export interface FakeClock {
  /** Milliseconds since the epoch. */
  now(): number;
  after(milliseconds: number, run: () => void): () => void;
  /**
   * Lets time pass at once. Timers run in the order in which they are due, also those that are set meanwhile.
   */
  advance(milliseconds: number): void;
  /**
   * Lets time pass in steps, with some turns of the event loop after each, so that promises settle in
   * between.
   */
  advanceInSteps(milliseconds: number, step: number): Promise<void>;
  /** Sets the time without running a timer, as when the clock of a machine is set. */
  set(now: number): void;
  /** Delays of the pending timers in milliseconds from now, the next one first. */
  pending(): number[];
}

/** Starts at `now`, in milliseconds since the epoch. */
export function fakeClock(now = Date.parse("2026-01-01T00:00:00Z")): FakeClock {
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  /** The timer that is due first; of several that are due at once, the one that was set first. */
  const nextTimer = () => {
    let next: { readonly at: number; readonly run: () => void } | undefined;
    for (const timer of timers) if (next === undefined || timer.at < next.at) next = timer;
    return next;
  };
  const advance = (milliseconds: number): void => {
    const end = now + milliseconds;
    for (let next = nextTimer(); next !== undefined && next.at <= end; next = nextTimer()) {
      timers.delete(next);
      now = Math.max(now, next.at);
      next.run();
    }
    now = end;
  };
  return {
    now: () => now,
    after(milliseconds, run) {
      const timer = { at: now + milliseconds, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance,
    async advanceInSteps(milliseconds, step) {
      const end = now + milliseconds;
      do {
        advance(Math.min(step, end - now));
        await eventLoopTurns(stepTurns);
      } while (now < end);
    },
    set(time) {
      now = time;
    },
    pending: () => [...timers].map(({ at }) => at - now).sort((a, b) => a - b),
  };
}

/**
 * The system's time, of which a test can leave out as much as it likes: for tests with processes and sockets.
 */
export interface SkipClock {
  now(): number;
  after(milliseconds: number, run: () => void): () => void;
  /** Time passes at once; timers that are due by then run in order. */
  skip(milliseconds: number): void;
}

export function skipClock(): SkipClock {
  let skipped = 0;
  const timers = new Set<{ at: number; fire: () => void }>();
  const now = (): number => Date.now() + skipped;
  return {
    now,
    after(milliseconds, run) {
      const cancel = (): void => {
        clearTimeout(timeout);
        timers.delete(timer);
      };
      const fire = (): void => {
        cancel();
        run();
      };
      const timeout = setTimeout(fire, Math.min(milliseconds, maxTimerDelay));
      timeout.unref();
      const timer = { at: now() + milliseconds, fire };
      timers.add(timer);
      return cancel;
    },
    skip(milliseconds) {
      skipped += milliseconds;
      for (const timer of [...timers].sort((a, b) => a.at - b.at))
        if (timer.at <= now() && timers.has(timer)) timer.fire();
    },
  };
}

/** The system's time, accelerated by a factor: for tests that wait for processes and for long timeouts. */
export function fastClock(factor: number): Pick<FakeClock, "now" | "after"> {
  const start = Date.now();
  return {
    now: () => start + (Date.now() - start) * factor,
    after(milliseconds, run) {
      const timeout = setTimeout(run, Math.min(milliseconds / factor, maxTimerDelay));
      timeout.unref();
      return () => clearTimeout(timeout);
    },
  };
}

/** Node fires a timer with a longer delay at once. */
const maxTimerDelay = 2 ** 31 - 1;

/** Turns of the event loop after a step: a request in process takes a few. */
const stepTurns = 3;

/**
 * Waits for some turns of the event loop, in which everything runs that needs no time: promises, and requests
 * that stay in this process.
 */
export async function eventLoopTurns(count = 10): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
