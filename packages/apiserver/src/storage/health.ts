import { type Clock, type Log, sleep } from "@dray/client";
import type { Store } from "@dray/store";
import { writeMark } from "./past.ts";

/** Milliseconds between two probes of a healthy store. */
const probeInterval = 5_000;
/** Timeout in milliseconds after which a store is unhealthy (kube-apiserver's --etcd-healthcheck-timeout). */
const probeTimeout = 2_000;

/** Tracks whether the store responds, and whether it accepts writes. */
export class Health {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  #writeFailed = false;
  #healthy = true;

  constructor(store: Store, clock: Clock, log: Log, signal: AbortSignal) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#signal = signal;
  }

  get healthy(): boolean {
    return this.#healthy;
  }

  /** Probes the store periodically until the signal aborts. */
  async watch(): Promise<void> {
    while (!this.#signal.aborted) {
      await sleep(this.#clock, probeInterval, this.#signal);
      if (!this.#signal.aborted) await this.#probe();
    }
  }

  /** Probes the store after a failed write: the cause may be the object or the store. */
  async suspect(): Promise<void> {
    if (this.#writeFailed) return;
    this.#writeFailed = true;
    await this.#probe();
  }

  async #probe(): Promise<void> {
    const answer = this.#ask().then(
      () => undefined,
      (error: unknown) => error,
    );
    const late = sleep(this.#clock, probeTimeout, this.#signal).then(
      () => new Error(`no answer within ${probeTimeout} ms`),
    );
    const error = await Promise.race([answer, late]);
    if (this.#signal.aborted) return;
    if (error === undefined) this.#writeFailed = false;
    const healthy = error === undefined;
    if (healthy !== this.#healthy) {
      if (healthy) this.#log.info({}, "the store works again");
      else this.#log.error({ error }, "the store does not work");
    }
    this.#healthy = healthy;
  }

  /** A read does not detect a full disk, so after a failed write the probe is a write. */
  async #ask(): Promise<unknown> {
    if (!this.#writeFailed) return this.#store.revision();
    return writeMark(this.#store);
  }
}
