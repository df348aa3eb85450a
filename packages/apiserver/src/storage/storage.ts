import type { KubeObject, Provenance } from "@dray/api";
import type { RawTexts } from "@dray/api/codec";
import { type Clock, type Log, sleep } from "@dray/client";
import {
  CompactedError,
  type Entry,
  type Operation,
  type Store,
  type StoreEvent,
  type TxnResult,
} from "@dray/store";
import { ResourceCache, type Stored } from "./cache.ts";
import { changeOf, readStored, StoredValueError, withRevision } from "./change.ts";
import { Compaction } from "./compaction.ts";
import { differences } from "./differences.ts";
import { notCaughtUp, writeFailure } from "./failures.ts";
import { Health } from "./health.ts";
import { Histories } from "./history.ts";
import { registryPrefix, resourceOfKey } from "./keys.ts";
import { pastEvents } from "./past.ts";
import { catchUpTimeout, Progress } from "./progress.ts";
import { RemainingCounts } from "./remaining-counts.ts";
import { shareFields } from "./shared-fields.ts";
import { checkSize } from "./size.ts";
import { storedAt } from "./stored-at.ts";

/** Encodes an object for the store; bigints keep their digits. */
export type Encode = (object: object) => string;

/** `ttl` is the object's lifetime in seconds; `pause` is awaited between the steps that take long. */
interface PutOptions {
  readonly ttl?: number | undefined;
  readonly pause?: (() => Promise<void>) | undefined;
}

/**
 * All objects in memory, fed by one watch of the store over the whole prefix, and the way to write them. A
 * write is acknowledged only when the caches have reached its revision, so that a client reads what it has
 * written.
 */
export class Storage {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #encode: Encode;
  readonly #caches = new Map<string, ResourceCache>();
  readonly #histories = new Histories();
  /** Objects of recent own writes, by text: the watch need not parse them again. */
  readonly #written = new Map<string, KubeObject>();
  readonly #stop = new AbortController();
  readonly #health: Health;
  readonly #progress: Progress;
  readonly #compaction: Compaction;
  readonly #rawTexts = new WeakMap<object, string>();
  readonly remainingCounts = new RemainingCounts();
  #began = 0;
  /** The store was empty. */
  #new = false;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(store: Store, clock: Clock, log: Log, encode: Encode) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#encode = encode;
    this.#health = new Health(store, clock, log, this.#stop.signal);
    this.#progress = new Progress(store, clock, log);
    this.#compaction = new Compaction(store, clock, log, this.#stop.signal);
  }

  /**
   * Loads all objects and the recent events, then follows the store. Rejects if the store cannot be read, or
   * contains a value that is not an object: without that object, controllers might delete its dependents.
   */
  async start(): Promise<void> {
    try {
      await this.#load();
    } catch (error) {
      if (!(error instanceof StoredValueError)) throw error;
      const advice =
        "restore the store from a copy, remove that key, or use another store (--data-dir, --store)";
      throw new Error(`the store ${this.#store.name} is damaged: ${error.message}; ${advice}`, {
        cause: error,
      });
    }
    this.#ended = Promise.all([this.#follow(), this.#health.watch()]);
    this.#compaction.start(() => this.revision);
    this.#ageHistories();
  }

  /** Repeats until the storage is closed: an event is fresh for one to two times `freshTime`. */
  #ageHistories(): void {
    const { signal } = this.#stop;
    const cancel = this.#clock.after(freshTime, () => {
      signal.removeEventListener("abort", cancel);
      this.#histories.age();
      this.#ageHistories();
    });
    signal.addEventListener("abort", cancel, { once: true });
  }

  async #load(): Promise<void> {
    const { entries, revision } = await this.#store.list(registryPrefix);
    this.#progress.reset(revision);
    for (const { key, value, modRevision } of entries) {
      const cache = this.#cacheOfKey(key);
      if (cache === undefined) continue;
      const object = withRevision(readStored(key, value), modRevision);
      cache.load({ key, object, revision: modRevision });
    }
    await this.#remember(entries);
  }

  /** Fills the histories, so that watches may begin at revisions before the start of this server. */
  async #remember(entries: readonly Entry[]): Promise<void> {
    this.#new = entries.length === 0;
    const reached = entries.some(({ modRevision }) => modRevision === this.revision);
    const { since, events } = this.#new
      ? { since: this.revision, events: [] }
      : await pastEvents(this.#store, this.revision, reached, this.#stop.signal);
    this.#forgetHistory(since);
    for (const event of events) {
      const { key, previous, value } = event;
      const cache = this.#cacheOfKey(key);
      if (cache === undefined) continue;
      // A value that is not an object may have been removed since.
      const old = previous && this.#objectOf({ key, value: previous.value });
      const before = old && withRevision(old, previous.modRevision);
      const object = event.type === "put" ? this.#objectOf({ key, value }) : undefined;
      if (object !== undefined || before !== undefined) cache.remember(changeOf(event, before, object));
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  /** The initial objects of a new cluster have no history: watches begin with them. */
  bootstrapped(): void {
    if (this.#new) this.#forgetHistory(this.revision);
    this.#new = false;
  }

  /** Watches may begin at `revision` or later. */
  #forgetHistory(revision: number): void {
    this.#began = revision;
    for (const cache of this.#caches.values()) cache.forgetHistory(revision);
  }

  /** The revision that all caches have reached. */
  get revision(): number {
    return this.#progress.revision;
  }

  /**
   * Texts of raw JSON with blanks in cached objects that this server has written, by value, because
   * Kubernetes compares raw JSON by its text. Raw JSON of other servers counts as compact.
   */
  get rawTexts(): RawTexts {
    return this.#rawTexts;
  }

  /** Keeps the texts of raw JSON of an object that is about to be written. */
  keepRawTexts({ rawTexts }: Provenance): void {
    for (const [value, text] of rawTexts) this.#rawTexts.set(value, text);
  }

  /** True if the store responds and accepts writes, and the caches follow it. */
  get healthy(): boolean {
    return this.following && this.#health.healthy;
  }

  /** True if the caches follow the store. */
  get following(): boolean {
    return this.#progress.following;
  }

  cache(resource: string): ResourceCache {
    const existing = this.#caches.get(resource);
    if (existing) return existing;
    const cache = new ResourceCache(`${registryPrefix}${resource}/`, this.#histories.create(this.#began));
    this.#caches.set(resource, cache);
    return cache;
  }

  caches(): ReadonlyMap<string, ResourceCache> {
    return this.#caches;
  }

  /** Resolves true when the caches have reached `revision`, false after `milliseconds`. */
  reached(revision: number, milliseconds: number): Promise<boolean> {
    return this.#progress.reached(revision, milliseconds);
  }

  /**
   * Resolves when the caches are at least as new as the store at the time of the call, like a linearizable
   * read of etcd. Throws 504 if the store does not respond or the caches do not follow, 500 if it fails.
   */
  current(): Promise<void> {
    return this.#progress.current();
  }

  /**
   * Returns objects whose key begins with `prefix`, from the key `start` on, as of `revision`, which the
   * caches have reached: from the cache if its history suffices, otherwise from the store. Throws
   * `CompactedError`, also during iteration, if the revision is compacted.
   */
  objectsAt(
    cache: ResourceCache,
    revision: number,
    prefix: string,
    start?: string,
  ): Iterable<Stored> | AsyncIterable<Stored> {
    if (revision < this.#compaction.revision) throw new CompactedError(revision);
    return cache.rangeAt(revision, prefix, start) ?? storedAt(this.#store, revision, prefix, start);
  }

  /**
   * Writes an object whose key must be at `modRevision` (0: must not exist). Returns the stored object, or
   * undefined if the key was at another revision; the caches then contain the winning write.
   */
  async put(
    key: string,
    object: KubeObject,
    modRevision: number,
    { ttl, pause }: PutOptions = {},
  ): Promise<Stored | undefined> {
    const { resourceVersion: _, ...metadata } = object.metadata;
    const plain = shareFields({ ...object, metadata } as KubeObject);
    await pause?.();
    const text = this.#encode(plain);
    await pause?.();
    checkSize(key, plain, text);
    this.#written.set(text, plain);
    try {
      const result = await this.#txn(key, modRevision, {
        type: "put",
        key,
        value: text,
        ...(ttl === undefined ? {} : { ttl }),
      });
      if (!result.succeeded) return await this.#waitForCache(key, result.current[0]);
      await this.#catchUp(result.revision);
      const stored = resourceOfKey(key) === undefined ? undefined : this.#cacheOfKey(key)?.get(key);
      if (stored?.revision === result.revision) return stored;
      // A later write has already replaced it in the cache.
      return {
        key,
        object: withRevision(plain, result.revision),
        revision: result.revision,
      };
    } finally {
      this.#written.delete(text);
    }
  }

  /**
   * Deletes a key that must be at `modRevision`; returns the revision of the deletion, undefined on a
   * mismatch.
   */
  async delete(key: string, modRevision: number): Promise<number | undefined> {
    const result = await this.#txn(key, modRevision, { type: "delete", key });
    if (!result.succeeded) return await this.#waitForCache(key, result.current[0]);
    await this.#catchUp(result.revision);
    return result.revision;
  }

  async #txn(key: string, modRevision: number, operation: Operation): Promise<TxnResult> {
    try {
      return await this.#store.txn([{ key, modRevision }], [operation]);
    } catch (error) {
      void this.#health.suspect();
      this.#log.warn({ error, key }, "the store has refused a write");
      throw writeFailure(error);
    }
  }

  async #catchUp(revision: number): Promise<void> {
    if (this.revision >= revision) return;
    if (!(await this.reached(revision, catchUpTimeout))) throw notCaughtUp(`revision ${revision}`);
  }

  /** Resolves when the cache of a key matches the store's response: at `entry`, or deleted. */
  async #waitForCache(key: string, entry: Entry | undefined): Promise<undefined> {
    if (entry !== undefined) return this.#catchUp(entry.modRevision) as Promise<undefined>;
    const cache = this.#cacheOfKey(key);
    if (cache?.get(key) === undefined) return;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#clock.after(catchUpTimeout, () => resolve(false));
    const leave = cache.subscribe((event) => {
      if (event.key === key && event.type === "DELETED") resolve(true);
    });
    const gone = await promise;
    cancel();
    leave();
    if (!gone) throw notCaughtUp(`the deletion of ${key}`);
  }

  /** Resolves when the caches show what became of a write that failed, or the storage is closed. */
  async settled(): Promise<void> {
    const { signal } = this.#stop;
    for (let delay = minDelay; !signal.aborted; delay = Math.min(delay * 2, maxDelay)) {
      try {
        return await this.current();
      } catch {
        await sleep(this.#clock, delay, signal);
      }
    }
  }

  #cacheOfKey(key: string): ResourceCache | undefined {
    const resource = resourceOfKey(key);
    return resource === undefined ? undefined : this.cache(resource);
  }

  /** Keeps the caches in sync with the store, across lost connections. */
  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    let delay = minDelay;
    let forgotten = false;
    while (!signal.aborted) {
      try {
        await this.#resume(forgotten);
        forgotten = false;
        for await (const batch of this.#store.watch(registryPrefix, this.revision, signal)) {
          delay = minDelay;
          for (const event of batch) this.#take(event);
          this.#progress.advance(batch.at(-1)?.revision ?? 0);
        }
        throw new Error("the watch of the store has ended");
      } catch (error) {
        if (signal.aborted) return;
        forgotten ||= error instanceof CompactedError;
        this.#progress.following = false;
        this.#log.warn({ error, revision: this.revision, delay }, "the watch of the store has failed");
      }
      await sleep(this.#clock, delay, signal);
      delay = Math.min(delay * 2, maxDelay);
    }
  }

  /** Prepares a watch from the revision of the caches: loads everything again if that is compacted. */
  async #resume(forgotten: boolean): Promise<void> {
    const newest = await this.#store.revision();
    // A store at an older revision was restored from a backup.
    if (forgotten || newest < this.revision) {
      const { entries, revision } = await this.#store.list(registryPrefix);
      this.#log.warn(
        { from: this.revision, to: revision },
        "what happened in the store is unknown: read it again",
      );
      this.#compaction.revision = 0;
      for (const event of differences(this.#caches.values(), entries, revision)) this.#take(event);
      // Running watches end, and begin again with the current state.
      this.#forgetHistory(revision);
      this.#progress.reset(revision);
    }
    this.#progress.following = true;
  }

  #take(event: StoreEvent): void {
    const cache = this.#cacheOfKey(event.key);
    if (cache === undefined) return;
    const previous = cache.get(event.key)?.object;
    const object = event.type === "put" ? this.#objectOf(event) : undefined;
    if (object !== undefined || previous !== undefined) cache.apply(changeOf(event, previous, object));
  }

  /** Undefined for a value that is not an object, which another program may have stored: reads skip it. */
  #objectOf({ key, value }: Pick<StoreEvent, "key" | "value">): KubeObject | undefined {
    try {
      return this.#written.get(value) ?? readStored(key, value);
    } catch (error) {
      this.#log.error({ error, key }, "the store holds a value that is not an object");
      return undefined;
    }
  }
}

/** Back-off of the watch of the store, in milliseconds: doubled after each failure. */
const minDelay = 100;
const maxDelay = 5_000;

/**
 * Minimum milliseconds for which events of large objects are kept, for watches that begin in the past.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/storage/cacher/watch_cache.go, DefaultEventFreshDuration.
 */
const freshTime = 75_000;
