import { type Kind, type KubeObject, StatusError } from "@dray/api";
import { type Clock, sleep } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { isGone, listAll } from "../rest/list-all.ts";
import { keyOf, type ObjectRef } from "../rest/object-ref.ts";
import type { ResourceClient } from "../rest/resource-client.ts";
import { eventError } from "../rest/responses.ts";
import type { WatchEvent } from "../transport/exchange.ts";
import { Indexer } from "./indexer.ts";
import type { Informer, InformerHandler, InformerOptions } from "./informer.ts";

/** Annotation of the bookmark after the initial events of a streaming list (KEP-3157). */
const initialEventsEnd = "k8s.io/initial-events-end";
/** Milliseconds between attempts, doubled with each failure. */
const baseDelay = 50;
const maxDelay = 10_000;
/** Milliseconds after which a watch counts as healthy: the delay starts again. */
const minHealthyDuration = 1_000;
/**
 * Statuses of servers that do not support `sendInitialEvents`, or whose store cannot detect when a list is
 * complete.
 */
const streamingUnsupported: ReadonlySet<number> = new Set([400, 422, 500]);

export interface ReflectorDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
}

/** Makes an informer that lists and watches a resource. */
export function createInformer<T extends KubeObject>(
  kind: Kind<T>,
  resource: ResourceClient<T>,
  options: InformerOptions<T>,
  dependencies: ReflectorDependencies,
): Informer<T> {
  return new ReflectingInformer(kind, resource, options, dependencies);
}

/**
 * Keeps an indexer equal to the state of the server.
 *
 * Upstream: client-go, tools/cache.Reflector and sharedIndexInformer.
 */
class ReflectingInformer<T extends KubeObject> implements Informer<T> {
  readonly #kind: Kind<T>;
  readonly #resource: ResourceClient<T>;
  readonly #selection: { namespace?: string; labelSelector?: string; fieldSelector?: string };
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #random: () => number;
  readonly #indexer: Indexer<T>;
  readonly #resyncPeriod: number | undefined;
  /** Called after each change. */
  readonly #waiting = new Set<() => void>();
  #resourceVersion: string | undefined;
  /** Resource version from which the next watch continues; undefined if the state must be listed again. */
  #watchFrom: string | undefined;
  /** Set to false when the server refuses a streaming list. */
  #streamsLists = true;
  #started: Promise<void> | undefined;
  #ended = false;
  #synced = false;

  constructor(
    kind: Kind<T>,
    resource: ResourceClient<T>,
    options: InformerOptions<T>,
    dependencies: ReflectorDependencies,
  ) {
    const { indexes, resyncPeriod, ...selection } = options;
    this.#kind = kind;
    this.#resource = resource;
    this.#selection = selection;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#random = dependencies.random;
    this.#indexer = new Indexer(indexes, dependencies.log);
    this.#resyncPeriod = resyncPeriod;
  }

  get synced(): boolean {
    return this.#synced;
  }

  get resourceVersion(): string | undefined {
    return this.#synced ? this.#resourceVersion : undefined;
  }

  start(signal: AbortSignal): Promise<void> {
    this.#started ??= new Promise((resolve) => {
      this.#waiting.add(() => {
        if (this.#synced || this.#ended) resolve();
      });
      void this.#run(signal);
      if (this.#resyncPeriod !== undefined) void this.#resync(this.#resyncPeriod, signal);
    });
    return this.#started;
  }

  get(ref: ObjectRef): T | undefined {
    return this.#indexer.get(keyOf(ref));
  }

  list(): readonly T[] {
    return this.#indexer.list();
  }

  byIndex(index: string, key: string): readonly T[] {
    return this.#indexer.byIndex(index, key);
  }

  handle(handler: InformerHandler<T>): () => void {
    return this.#indexer.handle(handler);
  }

  until(condition: () => boolean): Promise<void> {
    if (this.#ended || condition()) return Promise.resolve();
    return new Promise((resolve) => {
      const check = (): void => {
        if (!this.#ended && !condition()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
    });
  }

  #changed(): void {
    for (const check of this.#waiting) check();
  }

  async #run(signal: AbortSignal): Promise<void> {
    let delay = baseDelay;
    let failures = 0;
    while (!signal.aborted) {
      const started = this.#clock.now();
      let progress = false;
      const progressed = (): void => {
        progress = true;
      };
      try {
        if (this.#watchFrom !== undefined) await this.#watch(signal, progressed);
        else if (this.#streamsLists) await this.#streamList(signal, progressed);
        else await this.#list(signal, progressed);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (isGone(error)) this.#watchFrom = undefined;
        failures++;
        const level = failures === 1 || isGone(error) ? "debug" : "warn";
        this.#log[level](
          { resource: this.#kind.resource, failures, err: error },
          "the watch has broken off: trying again",
        );
      }
      if (progress || this.#clock.now() - started >= minHealthyDuration) delay = baseDelay;
      if (progress && failures === 0) continue;
      await sleep(this.#clock, delay * (0.5 + this.#random()), signal);
      delay = Math.min(delay * 2, maxDelay);
    }
    this.#ended = true;
    this.#changed();
  }

  async #resync(period: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#clock, period, signal);
      if (signal.aborted) return;
      this.#indexer.resync();
    }
  }

  /** Receives the whole state and then its changes on one watch (KEP-3157). */
  async #streamList(signal: AbortSignal, progressed: () => void): Promise<void> {
    const initial = new Map<string, T>();
    let complete = false;
    const events = this.#resource.watch(
      {
        ...this.#selection,
        allowWatchBookmarks: true,
        sendInitialEvents: true,
        resourceVersionMatch: "NotOlderThan",
      },
      { signal },
    );
    try {
      for await (const event of events) {
        if (complete) {
          this.#apply(event);
          progressed();
          continue;
        }
        if (event.type === "ERROR") throw eventError(event);
        if (event.type === "BOOKMARK") {
          if (event.object.metadata.annotations?.[initialEventsEnd] !== "true") continue;
          complete = true;
          this.#replace(initial, event.object.metadata.resourceVersion);
          initial.clear();
          progressed();
        } else if (event.type === "DELETED") initial.delete(keyOf(event.object.metadata));
        else initial.set(keyOf(event.object.metadata), event.object);
      }
    } catch (error) {
      if (!complete && error instanceof StatusError && streamingUnsupported.has(error.code)) {
        this.#log.info(
          { resource: this.#kind.resource, err: error },
          "the server does not stream lists: listing instead",
        );
        this.#streamsLists = false;
        return progressed();
      }
      throw error;
    }
  }

  async #list(signal: AbortSignal, progressed: () => void): Promise<void> {
    const { items, resourceVersion } = await listAll(this.#resource, this.#selection, { signal });
    this.#replace(new Map(items.map((object) => [keyOf(object.metadata), object])), resourceVersion);
    progressed();
  }

  async #watch(signal: AbortSignal, progressed: () => void): Promise<void> {
    const from = this.#watchFrom;
    if (from === undefined) return;
    const query = { ...this.#selection, allowWatchBookmarks: true, resourceVersion: from };
    for await (const event of this.#resource.watch(query, { signal })) {
      this.#apply(event);
      progressed();
    }
  }

  #replace(objects: ReadonlyMap<string, T>, resourceVersion: string): void {
    this.#indexer.replace(objects);
    this.#watchFrom = resourceVersion;
    this.#resourceVersion = resourceVersion;
    this.#synced = true;
    this.#changed();
  }

  #apply(event: WatchEvent<T>): void {
    const { type, object } = event;
    if (type === "ERROR") {
      // After any error, events may be missing.
      this.#watchFrom = undefined;
      throw eventError(event);
    }
    if (type === "DELETED") this.#indexer.remove(object);
    else if (type !== "BOOKMARK") this.#indexer.put(object);
    this.#watchFrom = object.metadata.resourceVersion;
    this.#resourceVersion = object.metadata.resourceVersion;
    this.#changed();
  }
}
