import { type Kind, type KubeObject, StatusError } from "@dray/api";
import type { Status } from "@dray/api/meta/v1";
import { isGone, listAll } from "../client/list-all.ts";
import { keyOf, type ObjectRef } from "../client/object-ref.ts";
import type { ResourceClient } from "../client/resource-client.ts";
import { type Clock, sleep } from "../clock.ts";
import type { Log } from "../log.ts";
import type { WatchEvent } from "../transport/exchange.ts";
import { Cache } from "./indexer.ts";
import type { Informer, InformerHandler, InformerOptions } from "./informer.ts";

/** The annotation of the bookmark that closes the initial events of a streaming list (KEP-3157). */
const initialEventsEnd = "k8s.io/initial-events-end";
const firstDelay = 50;
const longestDelay = 10_000;
/** A stream that lived so long in milliseconds was healthy: the next attempt comes at once. */
const healthy = 1_000;

interface Surroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
}

/** An informer over the lists and watches of one resource. */
export function followServer<T extends KubeObject>(
  kind: Kind<T>,
  resource: ResourceClient<T>,
  options: InformerOptions<T>,
  surroundings: Surroundings,
): Informer<T> {
  return new Follower(kind, resource, options, surroundings);
}

class Follower<T extends KubeObject> implements Informer<T> {
  readonly #kind: Kind<T>;
  readonly #resource: ResourceClient<T>;
  readonly #selection: { namespace?: string; labelSelector?: string; fieldSelector?: string };
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #random: () => number;
  readonly #cache: Cache<T>;
  readonly #resyncPeriod: number | undefined;
  readonly #waiting = new Set<() => void>();
  #resourceVersion: string | undefined;
  /** Where to watch on from; undefined: the state has to be read anew. */
  #position: string | undefined;
  /** Whether the server streams lists; found out by trying. */
  #streamsLists = true;
  #started: Promise<void> | undefined;
  #ended = false;
  #synced = false;

  constructor(
    kind: Kind<T>,
    resource: ResourceClient<T>,
    options: InformerOptions<T>,
    surroundings: Surroundings,
  ) {
    const { indexes, resyncPeriod, ...selection } = options;
    this.#kind = kind;
    this.#resource = resource;
    this.#selection = selection;
    this.#clock = surroundings.clock;
    this.#log = surroundings.log;
    this.#random = surroundings.random;
    this.#cache = new Cache(indexes, surroundings.log);
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
    return this.#cache.get(keyOf(ref));
  }

  list(): readonly T[] {
    return this.#cache.list();
  }

  byIndex(index: string, key: string): readonly T[] {
    return this.#cache.byIndex(index, key);
  }

  handle(handler: InformerHandler<T>): () => void {
    return this.#cache.handle(handler);
  }

  until(condition: () => boolean): Promise<void> {
    if (this.#ended || condition()) return Promise.resolve();
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.#ended && !condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
    });
  }

  #changed(): void {
    for (const look of this.#waiting) look();
  }

  async #run(signal: AbortSignal): Promise<void> {
    let delay = firstDelay;
    let failures = 0;
    while (!signal.aborted) {
      const begun = this.#clock.now();
      let progress = false;
      const heard = (): void => {
        progress = true;
      };
      try {
        if (this.#position !== undefined) await this.#watch(signal, heard);
        else if (this.#streamsLists) await this.#streamList(signal, heard);
        else await this.#list(signal, heard);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (isGone(error)) this.#position = undefined;
        failures++;
        const level = failures === 1 || isGone(error) ? "debug" : "warn";
        this.#log[level](
          { resource: this.#kind.resource, failures, err: error },
          "the watch has broken off: trying again",
        );
      }
      if (progress || this.#clock.now() - begun >= healthy) delay = firstDelay;
      if (progress && failures === 0) continue;
      await sleep(this.#clock, delay * (0.5 + this.#random()), signal);
      delay = Math.min(delay * 2, longestDelay);
    }
    this.#ended = true;
    this.#changed();
  }

  async #resync(period: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#clock, period, signal);
      if (signal.aborted) return;
      this.#cache.resync();
    }
  }

  /** The whole state as a stream, then its changes, on one watch. */
  async #streamList(signal: AbortSignal, heard: () => void): Promise<void> {
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
          heard();
          continue;
        }
        if (event.type === "ERROR") throw new StatusError(event.object as unknown as Status);
        if (event.type === "BOOKMARK") {
          if (event.object.metadata.annotations?.[initialEventsEnd] !== "true") continue;
          complete = true;
          this.#takeOver(initial, event.object.metadata.resourceVersion);
          initial.clear();
          heard();
        } else if (event.type === "DELETED") initial.delete(keyOf(event.object.metadata));
        else initial.set(keyOf(event.object.metadata), event.object);
      }
    } catch (error) {
      if (!complete && error instanceof StatusError && cannotStream.has(error.code)) {
        this.#log.info(
          { resource: this.#kind.resource, err: error },
          "the server does not stream lists: listing instead",
        );
        this.#streamsLists = false;
        return heard();
      }
      throw error;
    }
  }

  async #list(signal: AbortSignal, heard: () => void): Promise<void> {
    const { items, resourceVersion } = await listAll(this.#resource, this.#selection, { signal });
    this.#takeOver(new Map(items.map((object) => [keyOf(object.metadata), object])), resourceVersion);
    heard();
  }

  async #watch(signal: AbortSignal, heard: () => void): Promise<void> {
    const from = this.#position;
    if (from === undefined) return;
    const query = { ...this.#selection, allowWatchBookmarks: true, resourceVersion: from };
    for await (const event of this.#resource.watch(query, { signal })) {
      this.#apply(event);
      heard();
    }
  }

  #takeOver(objects: ReadonlyMap<string, T>, resourceVersion: string): void {
    this.#cache.replace(objects);
    this.#position = resourceVersion;
    this.#resourceVersion = resourceVersion;
    this.#synced = true;
    this.#changed();
  }

  #apply(event: WatchEvent<T>): void {
    const { type, object } = event;
    if (type === "ERROR") {
      // Whatever it was: the stream can no longer be trusted to be without gaps.
      this.#position = undefined;
      throw new StatusError(object as unknown as Status);
    }
    if (type === "DELETED") this.#cache.remove(object);
    else if (type !== "BOOKMARK") this.#cache.put(object);
    this.#position = object.metadata.resourceVersion;
    this.#resourceVersion = object.metadata.resourceVersion;
    this.#changed();
  }
}

/** What servers answer that know no `sendInitialEvents`, or whose store cannot tell when a list is complete. */
const cannotStream: ReadonlySet<number> = new Set([400, 422, 500]);
