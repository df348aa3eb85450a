/** A value as it was written, with the revision that wrote it. Values are JSON text. */
export interface Entry {
  readonly key: string;
  readonly value: string;
  /** The revision of the write that made this value. */
  readonly modRevision: number;
  readonly createRevision: number;
}

/** Holds if the key's current modRevision is `modRevision`; 0: the key does not exist. */
export interface Compare {
  readonly key: string;
  readonly modRevision: number;
}

export type Operation =
  | {
      readonly type: "put";
      readonly key: string;
      readonly value: string /** Seconds until it vanishes. */;
      readonly ttl?: number;
    }
  | { readonly type: "delete"; readonly key: string };

export type TxnResult =
  /** All operations were done in one revision and are durable. */
  | { readonly succeeded: true; readonly revision: number }
  /** Nothing was done; `current` has the keys of the comparisons as they are, missing ones left out. */
  | { readonly succeeded: false; readonly revision: number; readonly current: readonly Entry[] };

export interface StoreEvent {
  readonly type: "put" | "delete";
  readonly key: string;
  /** The value after a put, the last value before a delete. */
  readonly value: string;
  /** The revision of this event; strictly increasing over a watch, equal within one txn. */
  readonly revision: number;
  /** Where the key existed before: what it was. */
  readonly previous?: Entry;
  /** Revision at which the key was created. */
  readonly createRevision: number;
}

export interface ListOptions {
  /** At most so many entries. */
  readonly limit?: number;
  /** Begin behind this key. */
  readonly after?: string;
  /** As of this revision; newest if absent. Rejects with `CompactedError` if it is too old. */
  readonly revision?: number;
}

/**
 * Revisioned key-value storage with watch; the shape is etcd's. There is one global revision, strictly increasing.
 * The order of a write is: apply, make durable, then acknowledge and publish. A later `txn` sees pending writes;
 * readers and watchers see only durable ones. Writes of one turn of the event loop share one durable commit.
 */
export interface Store {
  /** The newest durable revision. */
  revision(): Promise<number>;
  get(key: string): Promise<Entry | undefined>;
  /** In the order of keys; `revision` is the one that the entries are of. */
  list(
    prefix: string,
    options?: ListOptions,
  ): Promise<{ entries: readonly Entry[]; revision: number; more: boolean }>;
  count(prefix: string): Promise<number>;
  /** Resolves when durable. If one comparison fails nothing is done. */
  txn(compare: readonly Compare[], operations: readonly Operation[]): Promise<TxnResult>;
  /**
   * Batches of events with `revision > from`, in order, each batch the events of one or more whole revisions.
   * Throws `CompactedError` if `from` has been compacted away. Ends when the signal aborts.
   */
  watch(prefix: string, from: number, signal: AbortSignal): AsyncIterable<readonly StoreEvent[]>;
  /** Forgets history up to and including `revision`; current values stay. */
  compact(revision: number): Promise<void>;
  /** Makes everything durable and releases files. */
  close(): Promise<void>;
}

/** The history asked for is gone: list again. */
export class CompactedError extends Error {
  override readonly name = "CompactedError";
  readonly compacted: number;
  constructor(requested: number, compacted: number) {
    super(`revision ${requested} has been compacted: the oldest available is ${compacted}`);
    this.compacted = compacted;
  }
}
