import type { KubeObject } from "@dray/api";
import type { ObjectRef } from "../client/object-ref.ts";

export interface InformerOptions<T> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Named functions from an object to the keys under which `byIndex` finds it. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Milliseconds after which `update` is called again for every object of the cache; never if absent. */
  readonly resyncPeriod?: number;
  /** Does not log what the server warns of: for kinds that are followed because the server has them. */
  readonly ignoreWarnings?: boolean;
}

export interface InformerHandler<T> {
  /** Called for each object that is there already when the handler is added, too. */
  add?(object: T): void;
  /** With the same object twice at a resync. */
  update?(object: T, old: T): void;
  /** The last state known. */
  delete?(object: T): void;
}

/**
 * A cache of one kind that follows the server through disconnects, 410 Gone and restarts. Objects are frozen:
 * copy to change. Handlers run in order, in the turn in which the event came in; they must not throw.
 */
export interface Informer<T extends KubeObject> {
  /** Begins to follow; the signal ends it. Resolves when the first state is complete. */
  start(signal: AbortSignal): Promise<void>;
  readonly synced: boolean;
  get(ref: ObjectRef): T | undefined;
  list(): readonly T[];
  byIndex(index: string, key: string): readonly T[];
  /** Answers a function that removes the handler. */
  handle(handler: InformerHandler<T>): () => void;
  /** The newest revision that the cache is known to reflect; undefined before the first state is complete. */
  readonly resourceVersion: string | undefined;
  /**
   * Resolves when `condition` holds, which is looked at now and after each change of the cache; also when the
   * informer ends. A controller waits so for its own writes before it decides again:
   * `until(() => hasReached(informer, written))`.
   */
  until(condition: () => boolean): Promise<void>;
}

/**
 * Whether the cache reflects this object or newer. Revisions compare as integers (KEP-5504, "Comparable
 * Resource Version"); etcd and our stores count one revision for all kinds.
 */
export function hasReached<T extends KubeObject>(informer: Informer<T>, written: KubeObject): boolean {
  const seen = informer.resourceVersion;
  const wanted = written.metadata.resourceVersion;
  if (seen === undefined) return false;
  // Decimal digits without leading zeros: the longer is the larger, of equal length the texts compare.
  return seen.length === wanted.length ? seen >= wanted : seen.length > wanted.length;
}
