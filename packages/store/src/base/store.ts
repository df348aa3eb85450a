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
  /** The entry before the event; absent if the key did not exist. */
  readonly previous?: Entry;
  /** Revision at which the key was created. */
  readonly createRevision: number;
}

export interface ListOptions {
  /** Maximum number of entries. */
  readonly limit?: number;
  /** Begin behind this key. */
  readonly after?: string;
  /** As of this revision; newest if absent. Rejects with `CompactedError` if it is too old. */
  readonly revision?: number;
}

/** Most operations of one txn, as etcd has it by default. */
export const maxOperations = 128;

/**
 * Revisioned key-value storage with watch; the shape is etcd's. There is one global revision, strictly
 * increasing. The order of a write is: apply, make durable, then acknowledge and publish. A later `txn` sees
 * pending writes; readers and watchers see only durable ones. Writes of one turn of the event loop share one
 * durable commit.
 */
export interface Store {
  /** Which store it is, for people: a path, URLs, or `memory`. */
  readonly name: string;
  /** The newest durable revision. */
  revision(): Promise<number>;
  get(key: string): Promise<Entry | undefined>;
  /** In the order of the keys' bytes in UTF-8; `revision` is the one that the entries are of. */
  list(
    prefix: string,
    options?: ListOptions,
  ): Promise<{ entries: readonly Entry[]; revision: number; more: boolean }>;
  count(prefix: string): Promise<number>;
  /**
   * Resolves when durable. If one comparison fails nothing is done. At most `maxOperations` operations, each
   * key once. Where it rejects nothing was done either, but for a connection that broke: then all was done,
   * or nothing.
   */
  txn(compare: readonly Compare[], operations: readonly Operation[]): Promise<TxnResult>;
  /**
   * Batches of events with `revision > from`, in order, each batch the events of one or more whole revisions.
   * Throws `CompactedError` if `from` has been compacted away, another error when the store fails: then begin
   * again behind the last batch. Ends when the signal aborts. A `from` in the future is silent until that is
   * past.
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
  constructor(requested: number | undefined, options?: ErrorOptions) {
    super(`revision ${requested ?? "asked for"} has been compacted: its history is gone`, options);
  }
}

/** The store could not be reached, or did not answer in time. A write may have been done all the same. */
export class StoreTimeoutError extends Error {
  override readonly name = "StoreTimeoutError";
}

/** Throws for a txn that no store takes. */
export function checkOperations(operations: readonly Operation[]): void {
  const { length } = operations;
  if (length > maxOperations) throw new Error(`a txn has at most ${maxOperations} operations, not ${length}`);
  if (length > 1 && new Set(operations.map(({ key }) => key)).size < length) {
    throw new Error("a txn has at most one operation for a key");
  }
}

/** Refuses to read what has not happened yet. */
export function checkRevision(requested: number, newest: number): void {
  if (requested > newest) throw new Error(`revision ${requested} is in the future: the newest is ${newest}`);
}

/** The first key behind all that begin with `prefix`. */
export function endOf(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}

/** Orders keys by their bytes in UTF-8, which is the order of their code points. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const x = a.charCodeAt(index);
    const y = b.charCodeAt(index);
    if (x === y) continue;
    // A surrogate stands for a code point above all others.
    const xSurrogate = x >= 0xd800 && x < 0xe000;
    const ySurrogate = y >= 0xd800 && y < 0xe000;
    return xSurrogate === ySurrogate ? x - y : xSurrogate ? 1 : -1;
  }
  return a.length - b.length;
}
