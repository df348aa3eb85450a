import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { controllerRateLimiter, type RateLimiter } from "./rate-limiter.ts";

export interface WorkQueueOptions {
  /** Says in logs whose queue this is. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Brings what the key names from what is to what should be; called for a key at most once at a time. If it
   * rejects, the key comes again after its back-off.
   */
  reconcile(key: string): Promise<void>;
  /** How many keys are worked on at a time; 1 if absent. */
  readonly concurrency?: number;
  /**
   * Milliseconds before the first repetition, doubled with each failure up to `longestDelay` (5 and 60,000 if absent);
   * all keys together are repeated ten times a second after the first hundred.
   */
  readonly firstDelay?: number;
  readonly longestDelay?: number;
  /** Takes the place of the two delays. */
  readonly rateLimiter?: RateLimiter;
}

/** Maximum number of keys begun in one turn of the event loop. */
const maxKeysPerTurn = 128;
/** Maximum number of rounds in a row, each asked for before the last had ended, that follow without a delay. */
const maxRoundsInRow = 64;
/** Milliseconds before the next round of such a key, doubled with each, and their maximum. */
const roundDelays = { first: 1, max: 1000 };

/**
 * Keys to reconcile. A key that is added again while it waits is worked on once; while it is worked on, once
 * more afterwards. Two rounds of one key never follow in one turn of the event loop, and a key whose rounds ask for
 * the next one without end is delayed: a reconcile that makes no progress must not keep the process from its I/O.
 */
export interface WorkQueue {
  add(key: string): void;
  /** Adds the key after some milliseconds; an earlier time that is already set for it stands. */
  addAfter(key: string, milliseconds: number): void;
  /** Adds the key when its rate limiter says: for repetitions that are no failure of `reconcile`. */
  addRateLimited(key: string): void;
  /** How many keys wait or are worked on; delayed ones apart. */
  readonly size: number;
  /** Takes no more keys, forgets those that wait, and resolves when the work begun is done. */
  close(): Promise<void>;
}

/** A queue that works on its keys from now on, in the order in which they came. */
export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock, log, name, reconcile, concurrency = 1, firstDelay = 5, longestDelay = 60_000 } = options;
  const limiter = options.rateLimiter ?? controllerRateLimiter(clock, firstDelay, longestDelay);
  const waiting = new Set<string>();
  const working = new Set<string>();
  const again = new Set<string>();
  /** Keys whose work itself has asked for a repetition: their back-off goes on. */
  const repeated = new Set<string>();
  const delayed = new Map<string, { readonly time: number; readonly cancel: () => void }>();
  /** Keys begun in this turn of the event loop. */
  const begun = new Set<string>();
  /** How many rounds a key has had in a row; absent for one that came to rest. */
  const rounds = new Map<string, number>();
  /** Keys whose next round is delayed because they had too many in a row. */
  const slowed = new Set<string>();
  /** Keys whose delay of that kind is over. */
  const due = new Set<string>();
  let closed = false;
  let scheduled = false;
  let drained: (() => void) | undefined;

  function add(key: string): void {
    if (closed || slowed.has(key)) return;
    if (working.has(key)) again.add(key);
    else waiting.add(key);
    wake();
  }

  function addAfter(key: string, milliseconds: number): void {
    if (closed) return;
    if (milliseconds <= 0) {
      add(key);
      return;
    }
    const time = clock.now() + milliseconds;
    const set = delayed.get(key);
    if (set !== undefined) {
      if (set.time <= time) return;
      set.cancel();
    }
    const cancel = clock.after(milliseconds, () => {
      delayed.delete(key);
      if (slowed.delete(key)) due.add(key);
      add(key);
    });
    delayed.set(key, { time, cancel });
  }

  function addRateLimited(key: string): void {
    if (working.has(key)) repeated.add(key);
    addAfter(key, limiter.when(key));
  }

  /** Begins in a later microtask, so that the events of one turn are seen together. */
  function wake(): void {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      for (const key of waiting) {
        if (working.size >= concurrency || begun.size >= maxKeysPerTurn) break;
        if (begun.has(key)) continue;
        waiting.delete(key);
        if (!due.delete(key) && isSlowed(key)) continue;
        if (begun.size === 0) setImmediate(endTurn);
        begun.add(key);
        working.add(key);
        void work(key);
      }
    });
  }

  function endTurn(): void {
    begun.clear();
    for (const key of rounds.keys())
      if (!waiting.has(key) && !working.has(key) && !slowed.has(key) && !due.has(key)) rounds.delete(key);
    if (waiting.size > 0) wake();
  }

  /** Counts a round of the key; true if it has had too many in a row, and is delayed instead. */
  function isSlowed(key: string): boolean {
    const count = (rounds.get(key) ?? 0) + 1;
    rounds.set(key, count);
    if (count <= maxRoundsInRow) return false;
    const doubled = roundDelays.first * 2 ** (count - maxRoundsInRow - 1);
    const delay = Math.min(doubled, roundDelays.max);
    // Once in a row: a log must not grow with it.
    if (doubled >= roundDelays.max && doubled < 2 * roundDelays.max)
      log.warn({ queue: name, key, rounds: count, delay }, "every round asks for another at once");
    slowed.add(key);
    addAfter(key, delay);
    return true;
  }

  async function work(key: string): Promise<void> {
    try {
      await reconcile(key);
      if (!repeated.has(key)) limiter.forget(key);
    } catch (error) {
      const delay = limiter.when(key);
      const failures = limiter.failures(key);
      addAfter(key, delay);
      if (!closed)
        log[failures < 4 ? "debug" : "warn"](
          { queue: name, key, failures, delay, err: error },
          "cannot reconcile yet",
        );
    }
    repeated.delete(key);
    working.delete(key);
    if (again.delete(key) && !closed) waiting.add(key);
    else if (!begun.has(key)) rounds.delete(key);
    if (closed && working.size === 0) drained?.();
    wake();
  }

  return {
    add,
    addAfter,
    addRateLimited,
    get size() {
      return waiting.size + working.size;
    },
    async close() {
      closed = true;
      waiting.clear();
      again.clear();
      for (const { cancel } of delayed.values()) cancel();
      delayed.clear();
      if (working.size > 0) {
        await new Promise<void>((resolve) => {
          drained = resolve;
        });
      }
    },
  };
}
