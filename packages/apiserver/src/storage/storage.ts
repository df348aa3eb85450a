import { type KubeObject, StatusError } from "@dray/api";
import type { Clock, Log } from "@dray/client";
import { CompactedError, type Store, type StoreEvent } from "@dray/store";
import { type CacheEvent, ResourceCache, type Stored } from "./cache.ts";
import { deepFreeze, parseStored } from "./json.ts";
import { registryPrefix, resourceOfKey } from "./keys.ts";

/** Milliseconds of history that the store keeps (kube-apiserver --etcd-compaction-interval). */
const compactionInterval = 5 * 60_000;

/** Turns an object into the text that is stored; bigints keep their digits. */
export type Encode = (object: object) => string;

/**
 * All objects in memory, fed by one watch of the store over the whole prefix, and the way to write them. A write is
 * acknowledged only when the caches have reached its revision, so that whoever got an answer reads what it wrote.
 */
export class Storage {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #encode: Encode;
  readonly #caches = new Map<string, ResourceCache>();
  /** Objects that we have just written, by text: the watch need not parse them again. */
  readonly #written = new Map<string, KubeObject>();
  readonly #stop = new AbortController();
  #waiting: { revision: number; done: () => void }[] = [];
  #revision = 0;
  #began = 0;
  #failed = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(store: Store, clock: Clock, log: Log, encode: Encode) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#encode = encode;
  }

  /** Reads everything, then follows the store. */
  async start(): Promise<void> {
    const { entries, revision } = await this.#store.list(registryPrefix);
    this.#revision = revision;
    this.#began = revision;
    for (const entry of entries) {
      const object = withRevision(parseStored(entry.value), entry.modRevision);
      this.#cacheOfKey(entry.key)?.load({ key: entry.key, object, revision: entry.modRevision });
    }
    this.#ended = this.#follow();
    this.#compactLater(revision);
  }

  /** Nobody asks the store for what the caches have long seen: history before the last interval goes. */
  #compactLater(revision: number): void {
    const cancel = this.#clock.after(compactionInterval, () => {
      this.#stop.signal.removeEventListener("abort", cancel);
      this.#store
        .compact(revision)
        .catch((error: unknown) => this.#log.warn({ error, revision }, "the store could not be compacted"));
      this.#compactLater(this.#revision);
    });
    this.#stop.signal.addEventListener("abort", cancel, { once: true });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  /** Watches may begin from now on, not before: what came until now is only the state they begin with. */
  forgetHistory(): void {
    this.#began = this.#revision;
    for (const cache of this.#caches.values()) cache.forgetHistory(this.#revision);
  }

  /** The revision that all caches have reached. */
  get revision(): number {
    return this.#revision;
  }

  get healthy(): boolean {
    return !this.#failed;
  }

  cache(resource: string): ResourceCache {
    const existing = this.#caches.get(resource);
    if (existing) return existing;
    const cache = new ResourceCache(`${registryPrefix}${resource}/`, this.#began);
    this.#caches.set(resource, cache);
    return cache;
  }

  caches(): ReadonlyMap<string, ResourceCache> {
    return this.#caches;
  }

  /** Resolves true when the caches have reached `revision`, false if that takes longer than `milliseconds`. */
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
   * Writes an object whose key must be at `modRevision` (0: must not exist). Answers the stored object, or undefined
   * if the key was at another revision; then the caches have caught up with the one that won.
   */
  async put(key: string, object: KubeObject, modRevision: number, ttl?: number): Promise<Stored | undefined> {
    const { resourceVersion: _, ...metadata } = object.metadata;
    const plain = { ...object, metadata };
    const text = this.#encode(plain);
    this.#written.set(text, plain as unknown as KubeObject);
    try {
      const result = await this.#store.txn(
        [{ key, modRevision }],
        [ttl === undefined ? { type: "put", key, value: text } : { type: "put", key, value: text, ttl }],
      );
      await this.#catchUp(result.revision);
      if (!result.succeeded) return undefined;
      const stored = resourceOfKey(key) === undefined ? undefined : this.#cacheOfKey(key)?.get(key);
      if (stored?.revision === result.revision) return stored;
      // A later write has already replaced it in the cache.
      return {
        key,
        object: withRevision(plain as unknown as KubeObject, result.revision),
        revision: result.revision,
      };
    } finally {
      this.#written.delete(text);
    }
  }

  /** Removes a key that must be at `modRevision`; answers the revision of the deletion, undefined if it was not. */
  async delete(key: string, modRevision: number): Promise<number | undefined> {
    const result = await this.#store.txn([{ key, modRevision }], [{ type: "delete", key }]);
    await this.#catchUp(result.revision);
    return result.succeeded ? result.revision : undefined;
  }

  async #catchUp(revision: number): Promise<void> {
    if (this.#revision >= revision) return;
    if (!(await this.reached(revision, catchUpLimit))) {
      throw StatusError.of("Timeout", `the watch cache has not reached revision ${revision}`);
    }
  }

  #cacheOfKey(key: string): ResourceCache | undefined {
    const resource = resourceOfKey(key);
    return resource === undefined ? undefined : this.cache(resource);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    try {
      for await (const batch of this.#store.watch(registryPrefix, this.#revision, signal)) {
        for (const event of batch) this.#take(event);
        const last = batch.at(-1);
        if (last) this.#advance(last.revision);
      }
    } catch (error) {
      if (!signal.aborted) {
        const compacted = error instanceof CompactedError;
        this.#log.error(
          { error, compacted },
          "the watch of the store has failed: this server must be restarted",
        );
      }
    }
    if (!signal.aborted) this.#failed = true;
  }

  #take(event: StoreEvent): void {
    const cache = this.#cacheOfKey(event.key);
    if (cache === undefined) return;
    const previous = cache.get(event.key)?.object;
    if (event.type === "delete") {
      if (previous === undefined) return;
      const object = withRevision(previous, event.revision);
      cache.apply({
        type: "DELETED",
        revision: event.revision,
        key: event.key,
        object,
        previous,
        frames: new Map(),
      });
      return;
    }
    const parsed = this.#written.get(event.value) ?? parseStored(event.value);
    const object = withRevision(parsed, event.revision);
    const change: CacheEvent = {
      type: previous === undefined ? "ADDED" : "MODIFIED",
      revision: event.revision,
      key: event.key,
      object,
      frames: new Map(),
      ...(previous === undefined ? {} : { previous }),
    };
    cache.apply(change);
  }

  #advance(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    if (this.#waiting.length === 0) return;
    const ready = this.#waiting.filter((waiter) => waiter.revision <= this.#revision);
    this.#waiting = this.#waiting.filter((waiter) => waiter.revision > this.#revision);
    for (const waiter of ready) waiter.done();
  }
}

/** A write that the watch has not shown after so many milliseconds is answered with a timeout. */
const catchUpLimit = 10_000;

function withRevision(object: KubeObject, revision: number): KubeObject {
  const resourceVersion = String(revision);
  return deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion } });
}
