import type { Clock } from "@dray/client";

/** Milliseconds for which a watcher may wait before it may be disconnected. */
const grace = 1_000;

/** Lets the event loop process all connections. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
}

/** An event that waits for one reader. */
export interface Waiting {
  /** The event, which may wait for other readers, too. */
  readonly event: Uint8Array;
  /** Bytes of it that are copied into the buffers of the connection. */
  readonly copied: number;
  /** Changes when the client reads. */
  progress(): number;
  abort(): void;
}

interface Holder {
  readonly waiting: Waiting;
  since: number;
  progress: number;
}

/**
 * Limits the bytes that wait for all watchers: the copies of their connections, and each event once, however
 * many watchers share it. Above the limit, watchers that have waited for a second and read nothing are
 * disconnected, the longest wait first; above twice the limit without that second. A watcher that reads never
 * waits for them.
 *
 * Upstream: k8s.io/apiserver/pkg/storage/cacher, which terminates watchers that do not take their events in
 * time.
 */
export class WaitingBytes {
  readonly #clock: Clock;
  readonly #limit: number;
  /** In the order in which they began to wait, or last made progress. */
  readonly #holders = new Set<Holder>();
  /** Number of watchers that wait with each event. */
  readonly #events = new Map<Uint8Array, number>();
  #total = 0;
  #cancel: (() => void) | undefined;
  #cutting = false;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get total(): number {
    return this.#total;
  }

  /** Counts the bytes as waiting until the returned function is called. */
  hold(waiting: Waiting): () => void {
    const holder: Holder = { waiting, since: this.#clock.now(), progress: waiting.progress() };
    const { event, copied } = waiting;
    const readers = this.#events.get(event) ?? 0;
    this.#events.set(event, readers + 1);
    this.#total += copied + (readers === 0 ? event.length : 0);
    this.#holders.add(holder);
    this.#reclaim();
    return () => this.#remove(holder);
  }

  /** Disconnects the slowest watchers as soon as allowed, while the limit is exceeded. */
  #reclaim(): void {
    const [slowest] = this.#holders;
    if (this.#cutting || slowest === undefined || this.#total <= this.#limit) return;
    this.#cancel?.();
    this.#cancel = this.#clock.after(this.#graceOf(slowest), () => void this.#cutOffSlowest());
  }

  /** Milliseconds for which this watcher may still wait. */
  #graceOf({ since }: Holder): number {
    return this.#total > 2 * this.#limit ? 0 : Math.max(0, since + grace - this.#clock.now());
  }

  async #cutOffSlowest(): Promise<void> {
    this.#cutting = true;
    // After a stall of this process, its sockets have not reported their progress yet.
    await turns();
    for (const holder of [...this.#holders]) {
      if (this.#total <= this.#limit || this.#graceOf(holder) > 0) break;
      if (this.#hasProgressed(holder)) continue;
      this.#remove(holder);
      holder.waiting.abort();
    }
    this.#cutting = false;
    this.#reclaim();
  }

  /** Moves a watcher that has made progress to the end. */
  #hasProgressed(holder: Holder): boolean {
    const progress = holder.waiting.progress();
    if (progress === holder.progress) return false;
    holder.progress = progress;
    holder.since = this.#clock.now();
    this.#holders.delete(holder);
    this.#holders.add(holder);
    return true;
  }

  #remove(holder: Holder): void {
    if (!this.#holders.delete(holder)) return;
    const { event, copied } = holder.waiting;
    // `hold` has counted this holder.
    const readers = this.#events.get(event)! - 1;
    if (readers === 0) this.#events.delete(event);
    else this.#events.set(event, readers);
    this.#total -= copied + (readers === 0 ? event.length : 0);
  }
}
