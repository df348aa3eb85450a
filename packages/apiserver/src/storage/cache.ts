import type { KubeObject } from "@dray/api";
import type { WatchFrame } from "@dray/client";

/** A stored object as the caches hold it: frozen, with its resourceVersion filled in. */
export interface Stored {
  readonly key: string;
  readonly object: KubeObject;
  readonly revision: number;
}

/** A change as the history keeps it. `object` of DELETED is the last state, at the revision of the deletion. */
export interface CacheEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly key: string;
  readonly object: KubeObject;
  readonly previous?: KubeObject;
  /** Frames already made for this event, by representation: an event is serialised once. */
  readonly frames: Map<string, WatchFrame>;
}

/** Takes events as they come; must not throw. */
export type Subscriber = (event: CacheEvent) => void;

/** How many events a resource keeps for watches that begin in the past. */
const historyLimit = 2048;

/** All objects of one resource, in the order of their keys, and what lately happened to them. */
export class ResourceCache {
  readonly prefix: string;
  readonly #objects = new Map<string, Stored>();
  readonly #keys: string[] = [];
  #history: CacheEvent[] = [];
  /** Watches may begin at this revision or later. */
  #since: number;
  readonly #subscribers = new Set<Subscriber>();

  constructor(prefix: string, since: number) {
    this.prefix = prefix;
    this.#since = since;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): Stored | undefined {
    return this.#objects.get(key);
  }

  /** Objects whose key begins with `prefix`, behind `after`, in order. */
  *range(prefix: string, after?: string): Generator<Stored> {
    const begin = after === undefined ? position(this.#keys, prefix) : position(this.#keys, `${after}\u0000`);
    for (let index = begin; index < this.#keys.length; index++) {
      const key = this.#keys[index]!;
      if (!key.startsWith(prefix)) {
        if (key > prefix) return;
        continue;
      }
      yield this.#objects.get(key)!;
    }
  }

  /** As `range`, but as it was at `revision`; undefined if the history does not reach back so far. */
  rangeAt(revision: number, prefix: string, after?: string): Iterable<Stored> | undefined {
    const later = this.history(revision);
    if (later === undefined) return undefined;
    if (later.length === 0) return this.range(prefix, after);
    const then = new Map<string, Stored | undefined>();
    for (const event of [...later].reverse()) {
      const { key, previous } = event;
      then.set(
        key,
        previous === undefined
          ? undefined
          : { key, object: previous, revision: Number(previous.metadata.resourceVersion) },
      );
    }
    const found = new Map<string, Stored>();
    for (const stored of this.range(prefix, after)) found.set(stored.key, stored);
    for (const [key, stored] of then) {
      if (!key.startsWith(prefix) || (after !== undefined && key <= after)) continue;
      if (stored) found.set(key, stored);
      else found.delete(key);
    }
    return [...found.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Fills the cache without events: what the first list of the store answered. */
  load(stored: Stored): void {
    if (!this.#objects.has(stored.key)) this.#keys.splice(position(this.#keys, stored.key), 0, stored.key);
    this.#objects.set(stored.key, stored);
  }

  apply(event: CacheEvent): void {
    if (event.type === "DELETED") {
      if (this.#objects.delete(event.key)) this.#keys.splice(position(this.#keys, event.key), 1);
    } else {
      this.load({ key: event.key, object: event.object, revision: event.revision });
    }
    this.#history.push(event);
    if (this.#history.length > historyLimit) {
      const dropped = this.#history.slice(0, historyLimit / 2);
      this.#history = this.#history.slice(historyLimit / 2);
      this.#since = dropped.at(-1)!.revision;
    }
    for (const subscriber of this.#subscribers) subscriber(event);
  }

  /** Events later than `revision`, or undefined if the history does not reach back so far. */
  history(revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#since) return undefined;
    const first = this.#history.findIndex((event) => event.revision > revision);
    return first < 0 ? [] : this.#history.slice(first);
  }

  forgetHistory(revision: number): void {
    this.#history = [];
    this.#since = revision;
  }

  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  get watchers(): number {
    return this.#subscribers.size;
  }
}

/** Index of the first key that is not before `key`. */
function position(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
