import type { KubeObject } from "@dray/api";
import type { CacheEvent, History, Reader } from "./history.ts";

/** A cached stored object: frozen, with its resourceVersion. */
export interface Stored {
  readonly key: string;
  readonly object: KubeObject;
  readonly revision: number;
}

/** Receives events in order; must not throw. */
export type Subscriber = (event: CacheEvent) => void;

/** All objects of one resource, sorted by key, and its recent events. */
export class ResourceCache {
  readonly prefix: string;
  readonly #objects = new Map<string, Stored>();
  readonly #keys: string[] = [];
  readonly #history: History;
  readonly #subscribers = new Set<Subscriber>();

  constructor(prefix: string, history: History) {
    this.prefix = prefix;
    this.#history = history;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): Stored | undefined {
    return this.#objects.get(key);
  }

  /** Yields objects whose key begins with `prefix`, from the key `start` on, in order. */
  *range(prefix: string, start = prefix): Generator<Stored> {
    for (let index = position(this.#keys, start); index < this.#keys.length; index++) {
      const key = this.#keys[index]!;
      if (!key.startsWith(prefix)) {
        if (key > prefix) return;
        continue;
      }
      // `#keys` holds the keys of `#objects`.
      yield this.#objects.get(key)!;
    }
  }

  /** Like `range`, at an earlier `revision`; undefined if the history does not contain it. */
  rangeAt(revision: number, prefix: string, start = prefix): Iterable<Stored> | undefined {
    const later = this.#history.after(revision);
    if (later === undefined) return undefined;
    if (later.length === 0) return this.range(prefix, start);
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
    for (const stored of this.range(prefix, start)) found.set(stored.key, stored);
    for (const [key, stored] of then) {
      if (!key.startsWith(prefix) || key < start) continue;
      if (stored) found.set(key, stored);
      else found.delete(key);
    }
    return [...found.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Fills the cache without events, from the first list of the store. */
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
    for (const subscriber of this.#subscribers) subscriber(event);
    this.#history.append(event);
  }

  /** Adds an event to the history that `load` has already applied; must be older than the applied ones. */
  remember(event: CacheEvent): void {
    this.#history.append(event);
  }

  /** Returns a reader of the events later than `revision`; see `History`. Undefined if they are forgotten. */
  read(revision: number, wake: () => void): Reader | undefined {
    return this.#history.read(revision, wake);
  }

  /** Watches may begin at `revision` or later; running ones must begin again. */
  forgetHistory(revision: number): void {
    this.#history.forget(revision);
  }

  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  get watchers(): number {
    return this.#history.readers;
  }
}

/** Returns the index of the first key that is not before `key`. */
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
