import type { Clock, Log } from "@dray/client";
import type { Store } from "@dray/store";

/** Milliseconds of history that the store keeps (kube-apiserver --etcd-compaction-interval). */
const interval = 5 * 60_000;

/** Compacts the store up to one interval ago: the caches have processed that history. */
export class Compaction {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  /** Reads before this revision are rejected. */
  revision = 0;

  constructor(store: Store, clock: Clock, log: Log, signal: AbortSignal) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#signal = signal;
  }

  /** Compacts periodically until the signal aborts; `newest` returns the newest revision of the caches. */
  start(newest: () => number): void {
    const revision = newest();
    const cancel = this.#clock.after(interval, () => {
      this.#signal.removeEventListener("abort", cancel);
      this.#compact(Math.min(revision, newest())).catch((error: unknown) =>
        this.#log.warn({ error, revision }, "the store could not be compacted"),
      );
      this.start(newest);
    });
    this.#signal.addEventListener("abort", cancel, { once: true });
  }

  async #compact(revision: number): Promise<void> {
    await this.#store.compact(revision);
    this.revision = revision;
  }
}
