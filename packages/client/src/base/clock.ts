/** Time, injected so that tests can use a fake clock. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Calls `run` once after `milliseconds`. Returns a function that cancels it. Does not keep the process
   * alive.
   */
  after(milliseconds: number, run: () => void): () => void;
}

/** Maximum delay of a timer in milliseconds: Node fires a longer one at once. */
const maxTimerDelay = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, run) {
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      const delay = Math.min(left, maxTimerDelay);
      timer = setTimeout(() => (left > delay ? wait(left - delay) : run()), delay);
      timer.unref();
    };
    wait(milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `milliseconds`, or at once when `signal` aborts. */
export function sleep(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const cancel = clock.after(milliseconds, () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    });
    const stop = (): void => {
      cancel();
      resolve();
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}
