import type { Clock } from "@dray/client";

/** Milliseconds for which a watcher may hold room that others wait for. */
const shareTime = 10_000;

/** Lets the event loop look at all connections. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
}

/** What waits for one reader. */
export interface Waiting {
  readonly bytes: number;
  /** Changes when the client shows that it reads. */
  progress(): number;
  cutOff(): void;
}

interface Holder {
  readonly waiting: Waiting;
  since: number;
  progress: number;
}

/**
 * Bounds the bytes that wait behind all watchers together. Where there is no room left a watcher waits with its next
 * event, which costs nothing: the history of the cache has it. Those that hold room for ten seconds and read
 * nothing are cut off, the longest first, so that clients which never read hold up nobody and cost no memory.
 * Upstream: k8s.io/apiserver/pkg/storage/cacher, which terminates watchers that do not take their events in time.
 */
export class WaitingBytes {
  readonly #clock: Clock;
  readonly #limit: number;
  /** In the order in which they began to wait. */
  readonly #holders = new Set<Holder>();
  #total = 0;
  #room = Promise.withResolvers<void>();

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Whether so many bytes may be written now. */
  hasRoom(bytes: number): boolean {
    return this.#total === 0 || this.#total + bytes <= this.#limit;
  }

  /** Resolves when there is room for so many bytes. */
  async room(bytes: number): Promise<void> {
    while (!this.hasRoom(bytes)) {
      const [slowest] = this.#holders;
      if (slowest === undefined) return;
      const left = slowest.since + shareTime - this.#clock.now();
      if (left <= 0) {
        // After a stall of our own what they have taken meanwhile is not known yet.
        await turns();
        if (!this.#holders.has(slowest) || this.hasRoom(bytes) || this.#hasMoved(slowest)) continue;
        this.#remove(slowest);
        slowest.waiting.cutOff();
        continue;
      }
      const cancel = this.#clock.after(left, () => this.#free());
      await this.#room.promise;
      cancel();
    }
  }

  /** These bytes wait for their reader until the answer is called. */
  hold(waiting: Waiting): () => void {
    const holder: Holder = { waiting, since: this.#clock.now(), progress: waiting.progress() };
    this.#holders.add(holder);
    this.#total += waiting.bytes;
    return () => this.#remove(holder);
  }

  /** One that has read something is the last in the row again. */
  #hasMoved(holder: Holder): boolean {
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
    this.#total -= holder.waiting.bytes;
    this.#free();
  }

  #free(): void {
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }
}
