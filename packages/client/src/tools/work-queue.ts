import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { controllerRateLimiter, type RateLimiter } from "../flowcontrol/rate-limiter.ts";
import type { QueueMetrics, WorkQueueMetrics } from "../metrics/work-queue-metrics.ts";

export interface WorkQueueOptions {
  /** Names the queue in logs and metrics. */
  readonly name: string;
  /** Counts what the queue does; not counted if absent. */
  readonly metrics?: WorkQueueMetrics;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Brings the object of a key from its actual to its desired state. Calls for one key never overlap. If it
   * rejects, the key is retried after its back-off.
   */
  reconcile(key: string): Promise<void>;
  /** Maximum number of keys that are reconciled at a time; 1 if absent. */
  readonly concurrency?: number;
  /**
   * Milliseconds before the first retry, doubled with each failure up to `maxDelay` (5 and 60,000 if absent).
   * All keys together are retried ten times a second after the first hundred.
   */
  readonly baseDelay?: number;
  readonly maxDelay?: number;
  /** Replaces the two delays. */
  readonly rateLimiter?: RateLimiter;
}

/** Maximum number of keys started in one turn of the event loop. */
const maxKeysPerTurn = 128;
/** Maximum number of rounds of a key without a delay, if each asks for the next before it ends. */
const maxRoundsInRow = 64;
/** Milliseconds before the next round of such a key, doubled with each, up to the maximum. */
const roundDelays = { base: 1, max: 1000 };

/**
 * Keys to reconcile. A key that is added several times while it waits is reconciled once; while it is being
 * reconciled, once more afterwards. Two rounds of one key never start in the same turn of the event loop, and
 * a key whose rounds keep asking for another is delayed: a reconcile without progress must not starve the I/O
 * of the process.
 *
 * Upstream: client-go, workqueue.TypedRateLimitingInterface.
 */
export interface WorkQueue {
  add(key: string): void;
  /** Adds the key after some milliseconds, unless it is already due earlier. */
  addAfter(key: string, milliseconds: number): void;
  /** Adds the key after the delay of its rate limiter: for retries without a failure of `reconcile`. */
  addRateLimited(key: string): void;
  /** Number of keys that wait or are being reconciled, without delayed ones. */
  readonly size: number;
  /** Discards waiting keys, accepts no more, and resolves when the running reconciles have ended. */
  close(): Promise<void>;
}

/** Makes a queue that starts reconciling at once, in the order in which keys are added. */
export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const queue = new RateLimitingQueue(options);
  return {
    add: (key) => queue.add(key),
    addAfter: (key, milliseconds) => queue.addAfter(key, milliseconds),
    addRateLimited: (key) => queue.addRateLimited(key),
    get size() {
      return queue.size;
    },
    close: () => queue.close(),
  };
}

class RateLimitingQueue implements WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #concurrency: number;
  readonly #limiter: RateLimiter;
  readonly #metrics: QueueMetrics | undefined;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  /** Running keys that were added again. */
  readonly #dirty = new Set<string>();
  /** Running keys that were added with `addRateLimited`: their back-off continues. */
  readonly #rateLimited = new Set<string>();
  readonly #delayed = new Map<string, { readonly time: number; readonly cancel: () => void }>();
  /** Keys started in this turn of the event loop. */
  readonly #started = new Set<string>();
  /** Number of rounds in a row; absent for a key that came to rest. */
  readonly #rounds = new Map<string, number>();
  /** Keys whose next round is delayed because of too many rounds in a row. */
  readonly #slowed = new Set<string>();
  /** Keys whose delay of that kind is over. */
  readonly #due = new Set<string>();
  #closed = false;
  #scheduled = false;
  #drained: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    const { clock, concurrency = 1, baseDelay = 5, maxDelay = 60_000 } = options;
    this.#options = options;
    this.#concurrency = concurrency;
    this.#limiter = options.rateLimiter ?? controllerRateLimiter(clock, baseDelay, maxDelay);
    this.#metrics = options.metrics?.queue(options.name, clock, () => this.#waiting.size + this.#dirty.size);
  }

  get size(): number {
    return this.#waiting.size + this.#running.size;
  }

  add(key: string): void {
    if (this.#closed || this.#slowed.has(key)) return;
    const keys = this.#running.has(key) ? this.#dirty : this.#waiting;
    if (!keys.has(key)) this.#metrics?.add(key);
    keys.add(key);
    this.#wake();
  }

  addAfter(key: string, milliseconds: number): void {
    if (this.#closed) return;
    this.#metrics?.retry();
    this.#delay(key, milliseconds);
  }

  #delay(key: string, milliseconds: number): void {
    if (milliseconds <= 0) {
      this.add(key);
      return;
    }
    const { clock } = this.#options;
    const time = clock.now() + milliseconds;
    const set = this.#delayed.get(key);
    if (set !== undefined) {
      if (set.time <= time) return;
      set.cancel();
    }
    const cancel = clock.after(milliseconds, () => {
      this.#delayed.delete(key);
      if (this.#slowed.delete(key)) this.#due.add(key);
      this.add(key);
    });
    this.#delayed.set(key, { time, cancel });
  }

  addRateLimited(key: string): void {
    if (this.#running.has(key)) this.#rateLimited.add(key);
    this.addAfter(key, this.#limiter.when(key));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    this.#dirty.clear();
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#metrics?.close();
    if (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
    }
  }

  /** Starts keys in a later microtask, so that the events of one turn are seen together. */
  #wake(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      for (const key of this.#waiting) {
        if (this.#running.size >= this.#concurrency || this.#started.size >= maxKeysPerTurn) break;
        if (this.#started.has(key)) continue;
        this.#waiting.delete(key);
        if (!this.#due.delete(key) && this.#isSlowed(key)) continue;
        if (this.#started.size === 0) setImmediate(() => this.#endTurn());
        this.#started.add(key);
        this.#running.add(key);
        this.#metrics?.get(key);
        void this.#reconcile(key);
      }
    });
  }

  #endTurn(): void {
    this.#started.clear();
    for (const key of this.#rounds.keys()) if (!this.#isActive(key)) this.#rounds.delete(key);
    if (this.#waiting.size > 0) this.#wake();
  }

  #isActive(key: string): boolean {
    return this.#waiting.has(key) || this.#running.has(key) || this.#slowed.has(key) || this.#due.has(key);
  }

  /** Counts a round of the key. Returns true if it had too many in a row and is delayed instead. */
  #isSlowed(key: string): boolean {
    const count = (this.#rounds.get(key) ?? 0) + 1;
    this.#rounds.set(key, count);
    if (count <= maxRoundsInRow) return false;
    const doubled = roundDelays.base * 2 ** (count - maxRoundsInRow - 1);
    const delay = Math.min(doubled, roundDelays.max);
    // Logged once per row of rounds.
    const { name, log } = this.#options;
    if (doubled >= roundDelays.max && doubled < 2 * roundDelays.max)
      log.warn({ queue: name, key, rounds: count, delay }, "every round asks for another at once");
    this.#slowed.add(key);
    if (!this.#closed) this.#delay(key, delay);
    return true;
  }

  async #reconcile(key: string): Promise<void> {
    try {
      await this.#options.reconcile(key);
      if (!this.#rateLimited.has(key)) this.#limiter.forget(key);
    } catch (error) {
      this.#retry(key, error);
    }
    this.#rateLimited.delete(key);
    this.#running.delete(key);
    this.#metrics?.done(key);
    if (this.#dirty.delete(key) && !this.#closed) this.#waiting.add(key);
    else if (!this.#started.has(key)) this.#rounds.delete(key);
    if (this.#closed && this.#running.size === 0) this.#drained?.();
    this.#wake();
  }

  #retry(key: string, error: unknown): void {
    const delay = this.#limiter.when(key);
    const failures = this.#limiter.failures(key);
    this.addAfter(key, delay);
    if (this.#closed) return;
    const { name, log } = this.#options;
    log[failures < 4 ? "debug" : "warn"](
      { queue: name, key, failures, delay, err: error },
      "cannot reconcile yet",
    );
  }
}
