import type { KubeObject } from "@dray/api";
import type { ObjectRef } from "../rest/object-ref.ts";

export interface InformerOptions<T> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Named functions that return the keys under which `byIndex` finds an object. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Milliseconds after which `update` is called again for every cached object; never if absent. */
  readonly resyncPeriod?: number;
  /** Does not log warnings of the server: for kinds that are watched only because the server has them. */
  readonly ignoreWarnings?: boolean;
}

export interface InformerHandler<T> {
  /** Also called for each object that is already cached when the handler is added. */
  add?(object: T): void;
  /** Called with the same object twice at a resync. */
  update?(object: T, old: T): void;
  /** Called with the last known state. */
  delete?(object: T): void;
}

/**
 * A cache of one kind that follows the server through disconnects, 410 Gone and restarts. Objects are frozen:
 * copy them to change them. Handlers run in order, in the turn of the event loop in which the event arrives,
 * and must not throw.
 *
 * Upstream: client-go, tools/cache.SharedIndexInformer.
 */
export interface Informer<T extends KubeObject> {
  /** Starts the informer, which runs until the signal aborts. Resolves when the cache is synced. */
  start(signal: AbortSignal): Promise<void>;
  readonly synced: boolean;
  get(ref: ObjectRef): T | undefined;
  list(): readonly T[];
  byIndex(index: string, key: string): readonly T[];
  /** Adds a handler. Returns a function that removes it. */
  handle(handler: InformerHandler<T>): () => void;
  /** The newest revision that the cache reflects; undefined until it is synced. */
  readonly resourceVersion: string | undefined;
  /**
   * Resolves when `condition` holds, which is checked now and after each change of the cache, or when the
   * informer ends. A controller waits with it for its own writes before it decides again: `until(() =>
   * hasReached(informer, written))`.
   */
  until(condition: () => boolean): Promise<void>;
}

/**
 * Reports whether the cache reflects this state of an object or a newer one. Revisions compare as integers
 * (KEP-5504); etcd and our stores have one revision for all kinds.
 */
export function hasReached<T extends KubeObject>(informer: Informer<T>, written: KubeObject): boolean {
  const cached = informer.resourceVersion;
  const wanted = written.metadata.resourceVersion;
  if (cached === undefined) return false;
  // Decimal digits without leading zeros: the longer is the larger, and texts of equal length compare as
  // numbers do.
  return cached.length === wanted.length ? cached >= wanted : cached.length > wanted.length;
}
