import { Expiry, type StoreClock } from "../base/clock.ts";
import {
  CompactedError,
  type Compare,
  checkOperations,
  checkRevision,
  compareKeys,
  type Entry,
  type ListOptions,
  type Operation,
  type Store,
  type StoreEvent,
  type TxnResult,
} from "../base/store.ts";
import { type History, Watchers } from "../watch/watchers.ts";

/** A store without durability: for tests, and for clusters that are thrown away. */
export function memoryStore(clock: StoreClock): Store {
  return new MemoryStore(clock);
}

class MemoryStore implements Store, History {
  readonly name = "memory";
  readonly #entries = new Map<string, Entry>();
  readonly #expires = new Map<string, number>();
  readonly #clock: StoreClock;
  readonly #expiry: Expiry;
  readonly #watchers = new Watchers(this);
  #events: StoreEvent[] = [];
  #revision = 1;
  #closed = false;
  compacted = 0;

  constructor(clock: StoreClock) {
    this.#clock = clock;
    this.#expiry = new Expiry(clock, (now) => this.#expire(now));
  }

  async revision(): Promise<number> {
    return this.#revision;
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#entries.get(key);
  }

  async list(prefix: string, options: ListOptions = {}) {
    const revision = options.revision ?? this.#revision;
    if (revision < this.compacted) throw new CompactedError(revision);
    checkRevision(revision, this.#revision);
    const at = revision < this.#revision ? this.#at(prefix, revision) : this.#entries;
    const keys = [...at.keys()].filter((key) => key.startsWith(prefix)).sort(compareKeys);
    const after = options.after;
    const rest = after === undefined ? keys : keys.filter((key) => compareKeys(key, after) > 0);
    const page = options.limit === undefined ? rest : rest.slice(0, options.limit);
    // The keys are those of `at`.
    const entries = page.map((key) => at.get(key)!);
    return { entries, revision, more: page.length < rest.length };
  }

  async count(prefix: string): Promise<number> {
    let count = 0;
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) count++;
    return count;
  }

  async txn(compare: readonly Compare[], operations: readonly Operation[]): Promise<TxnResult> {
    if (this.#closed) throw new Error("the store is closed");
    checkOperations(operations);
    const holds = compare.every(
      ({ key, modRevision }) => (this.#entries.get(key)?.modRevision ?? 0) === modRevision,
    );
    if (!holds) {
      const current = compare.map(({ key }) => this.#entries.get(key)).filter((entry) => entry !== undefined);
      return { succeeded: false, revision: this.#revision, current };
    }
    this.#apply(operations);
    return { succeeded: true, revision: this.#revision };
  }

  watch(prefix: string, from: number, signal: AbortSignal): AsyncIterable<readonly StoreEvent[]> {
    return this.#watchers.watch(prefix, from, signal);
  }

  async compact(revision: number): Promise<void> {
    this.compacted = Math.max(this.compacted, Math.min(revision, this.#revision));
    this.#events = this.#events.filter((event) => event.revision > this.compacted);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#expiry.close();
    this.#watchers.close();
  }

  eventsAfter(prefix: string, from: number, limit: number): readonly StoreEvent[] {
    const page: StoreEvent[] = [];
    for (const event of this.#events) {
      if (event.revision <= from || !event.key.startsWith(prefix)) continue;
      if (page.length >= limit && event.revision !== page[page.length - 1]?.revision) break;
      page.push(event);
    }
    return page;
  }

  #apply(operations: readonly Operation[]): void {
    const revision = this.#revision + 1;
    const events: StoreEvent[] = [];
    for (const operation of operations) {
      const { key } = operation;
      const previous = this.#entries.get(key);
      if (operation.type === "delete") {
        if (previous === undefined) continue;
        this.#entries.delete(key);
        this.#expires.delete(key);
        const { value, createRevision } = previous;
        events.push({ type: "delete", key, value, revision, previous, createRevision });
        continue;
      }
      const createRevision = previous?.createRevision ?? revision;
      const { value, ttl } = operation;
      this.#entries.set(key, { key, value, modRevision: revision, createRevision });
      events.push({ type: "put", key, value, revision, createRevision, ...(previous && { previous }) });
      if (ttl === undefined) this.#expires.delete(key);
      else {
        const due = this.#clock.now() + ttl * 1000;
        this.#expires.set(key, due);
        this.#expiry.note(due);
      }
    }
    if (events.length === 0) return;
    this.#revision = revision;
    for (const each of events) this.#events.push(each);
    this.#watchers.publish(events);
  }

  #expire(now: number): number | undefined {
    const due = [...this.#expires].filter(([, time]) => time <= now).map(([key]) => key);
    if (due.length > 0) this.#apply(due.map((key) => ({ type: "delete", key })));
    let next: number | undefined;
    for (const time of this.#expires.values()) next = Math.min(next ?? time, time);
    return next;
  }

  /** The entries as of an older revision: the newer events undone. */
  #at(prefix: string, revision: number): Map<string, Entry> {
    const entries = new Map(this.#entries);
    for (let i = this.#events.length - 1; i >= 0; i--) {
      const event = this.#events[i]!;
      if (event.revision <= revision) break;
      if (!event.key.startsWith(prefix)) continue;
      if (event.previous === undefined) entries.delete(event.key);
      else entries.set(event.key, event.previous);
    }
    return entries;
  }
}
