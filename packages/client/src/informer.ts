import type { KubeObject } from "@dray/api";
import type { ObjectRef } from "./client.ts";

export interface InformerOptions<T> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Named functions from an object to the keys under which `byIndex` finds it. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
}

export interface InformerHandler<T> {
  /** Called for each object that is there already when the handler is added, too. */
  add?(object: T): void;
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
}
