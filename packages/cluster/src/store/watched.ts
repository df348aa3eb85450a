import { type Store, StoreFileError } from "@dray/store";

/** A store that reports when its file cannot be used: a start that needs to write is over then. */
export interface WatchedStore {
  readonly store: Store;
  /** Rejects with the first StoreFileError of a write; never resolves. */
  readonly failed: Promise<never>;
}

export function watchStore(inner: Store): WatchedStore {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Listeners are optional.
  failed.catch(() => {});
  const store: Store = {
    name: inner.name,
    revision: () => inner.revision(),
    get: (key) => inner.get(key),
    list: (prefix, options) => inner.list(prefix, options),
    count: (prefix) => inner.count(prefix),
    async txn(compare, operations) {
      try {
        return await inner.txn(compare, operations);
      } catch (error) {
        if (error instanceof StoreFileError) reject(error);
        throw error;
      }
    },
    watch: (prefix, from, signal) => inner.watch(prefix, from, signal),
    compact: (revision) => inner.compact(revision),
    close: () => inner.close(),
  };
  return { store, failed };
}
