/** Clock of a store, for the expiry of entries. The `Clock` of @dray/client fits. */
export interface StoreClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `run` once after `milliseconds`; the answer cancels. */
  after(milliseconds: number, run: () => void): () => void;
}

/** Expired entries go within so many milliseconds. */
const expiryStep = 5_000;
/** Most milliseconds between two looks: a clock that is set back must not put them off for as long. */
const maxWait = 3_600_000;

/** Calls `expire` whenever entries may be due, and never while none has a time to live. */
export class Expiry {
  readonly #clock: StoreClock;
  readonly #expire: (now: number) => number | undefined;
  #cancel: (() => void) | undefined;

  /** `expire` removes what is due and answers when the next entry is due, if there is one. */
  constructor(clock: StoreClock, expire: (now: number) => number | undefined) {
    this.#clock = clock;
    this.#expire = expire;
  }

  /** There is an entry that expires at `time`. */
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
