import { CompactedError, type StoreEvent } from "../base/store.ts";

/** Most events that a watcher may lag behind before it goes back to reading history. */
const maxQueued = 10_000;
/** Most events read from history at once. */
const historyPage = 1_000;

/** Source of events for watchers: events after a revision, whole revisions, oldest first. */
export interface History {
  /** Revisions up to this one are forgotten. */
  readonly compacted: number;
  /** Events with a revision above `from`: whole revisions, at least `limit` events if available. */
  eventsAfter(prefix: string, from: number, limit: number): readonly StoreEvent[];
}

interface Watcher {
  readonly prefix: string;
  queue: (readonly StoreEvent[])[];
  queued: number;
  /** Events were dropped from the queue: history has them. */
  overflowed: boolean;
  wake: () => void;
}

/**
 * Hands events to watchers in order. A watcher reads history until it has caught up, then gets events as they
 * are published; one that falls far behind goes back to history, so that its memory stays bounded and nothing
 * is missed.
 */
export class Watchers {
  readonly #watchers = new Set<Watcher>();
  readonly #history: History;
  #closed = false;

  constructor(history: History) {
    this.#history = history;
  }

  /** Events of one durable commit. */
  publish(events: readonly StoreEvent[]): void {
    for (const watcher of this.#watchers) {
      const relevant = events.every((event) => event.key.startsWith(watcher.prefix))
        ? events
        : events.filter((event) => event.key.startsWith(watcher.prefix));
      if (relevant.length === 0) continue;
      if (watcher.overflowed || watcher.queued + relevant.length > maxQueued) {
        watcher.overflowed = true;
        watcher.queue = [];
        watcher.queued = 0;
      } else {
        watcher.queue.push(relevant);
        watcher.queued += relevant.length;
      }
      watcher.wake();
    }
  }

  async *watch(prefix: string, from: number, signal: AbortSignal): AsyncGenerator<readonly StoreEvent[]> {
    let wake: () => void = () => {};
    const watcher: Watcher = { prefix, queue: [], queued: 0, overflowed: true, wake: () => wake() };
    const stop = (): void => wake();
    signal.addEventListener("abort", stop);
    this.#watchers.add(watcher);
    let position = from;
    try {
      while (!signal.aborted && !this.#closed) {
        if (watcher.overflowed) {
          if (position < this.#history.compacted) throw new CompactedError(position);
          const events = this.#history.eventsAfter(prefix, position, historyPage);
          if (events.length < historyPage) {
            // Caught up, and no commit can come between this read and the next `publish`.
            watcher.overflowed = false;
          }
          if (events.length > 0) {
            position = events[events.length - 1]!.revision;
            yield events;
          }
          continue;
        }
        const batch = watcher.queue.shift();
        if (batch !== undefined) {
          watcher.queued -= batch.length;
          const later =
            batch[0]!.revision > position ? batch : batch.filter(({ revision }) => revision > position);
          if (later.length === 0) continue;
          position = later[later.length - 1]!.revision;
          yield later;
          continue;
        }
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    } finally {
      this.#watchers.delete(watcher);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Ends every watch. */
  close(): void {
    this.#closed = true;
    for (const watcher of this.#watchers) watcher.wake();
  }
}
