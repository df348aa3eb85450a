/** Clock of a store, for the expiry of entries. The `Clock` of @dray/client fits. */
export interface StoreClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `run` once after `milliseconds`. Returns a function that cancels it. */
  after(milliseconds: number, run: () => void): () => void;
}

/** Maximum milliseconds after which an expired entry is removed. */
const expiryStep = 5_000;
/** Maximum milliseconds between two checks: a clock that is set back must not delay them for as long. */
const maxWait = 3_600_000;

/** Calls `expire` when entries may be due; never while no entry has a time to live. */
export class Expiry {
  readonly #clock: StoreClock;
  readonly #expire: (now: number) => number | undefined;
  #cancel: (() => void) | undefined;

  /** `expire` removes entries that are due and returns when the next one is due, if there is one. */
  constructor(clock: StoreClock, expire: (now: number) => number | undefined) {
    this.#clock = clock;
    this.#expire = expire;
  }

  /** Notes an entry that expires at `time`. */
  note(time: number): void {
    if (this.#cancel !== undefined) return;
    const delay = Math.min(Math.max(time - this.#clock.now(), 0), maxWait) + expiryStep;
    this.#cancel = this.#clock.after(delay, () => {
      this.#cancel = undefined;
      const next = this.#expire(this.#clock.now());
      if (next !== undefined) this.note(next);
    });
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
