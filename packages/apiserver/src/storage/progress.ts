import type { Clock, Log } from "@dray/client";
import type { Store } from "@dray/store";
import { notCaughtUp, readFailure } from "./failures.ts";
import { NewestRevision } from "./newest.ts";
import { writeMark } from "./past.ts";

/** Timeout in milliseconds for the caches to catch up with the store. */
export const catchUpTimeout = 10_000;

/**
 * Milliseconds after which progress is requested from a silent watch (upstream requests etcd's progress at
 * this interval).
 */
const progressDelay = 100;

/** Tracks how far the caches have followed the store, and wakes callers that wait for a revision. */
export class Progress {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #newest: NewestRevision;
  #revision = 0;
  #waiting: { revision: number; done: () => void }[] = [];
  #marking: Promise<void> | undefined;
  /** The watch of the store is running. */
  following = true;

  constructor(store: Store, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#newest = new NewestRevision(() => store.revision());
  }

  /** The revision that all caches have reached. */
  get revision(): number {
    return this.#revision;
  }

  /** Sets the revision of the caches, even to an older one. */
  reset(revision: number): void {
    this.#revision = 0;
    this.advance(revision);
  }

  advance(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    if (this.#waiting.length === 0) return;
    const ready = this.#waiting.filter((waiter) => waiter.revision <= this.#revision);
    this.#waiting = this.#waiting.filter((waiter) => waiter.revision > this.#revision);
    for (const waiter of ready) waiter.done();
  }

  /** Resolves true when the caches have reached `revision`, false after `milliseconds`. */
  reached(revision: number, milliseconds: number): Promise<boolean> {
    if (this.#revision >= revision) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter = { revision, done: () => finish(true) };
      const cancel = this.#clock.after(milliseconds, () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        resolve(false);
      });
      const finish = (reached: boolean): void => {
        cancel();
        resolve(reached);
      };
      this.#waiting.push(waiter);
    });
  }

  /**
   * Resolves when the caches are at least as new as the store at the time of the call. Throws like
   * `Storage.current`.
   */
  async current(): Promise<void> {
    const newest = await this.#newest.revision().catch((error: unknown) => {
      throw readFailure(error);
    });
    const end = this.#clock.now() + catchUpTimeout;
    while (!(await this.reached(newest, progressDelay))) {
      if (this.#clock.now() >= end) throw notCaughtUp(`revision ${newest}`);
      // The newest revision may be a write outside of the watched prefix.
      if (this.following) this.#mark();
    }
  }

  #mark(): void {
    this.#marking ??= writeMark(this.#store)
      .catch((error: unknown) => this.#log.warn({ error }, "the store has refused a mark"))
      .finally(() => {
        this.#marking = undefined;
      });
  }
}
