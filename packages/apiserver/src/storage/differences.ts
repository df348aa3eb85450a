import type { Entry, StoreEvent } from "@dray/store";
import type { ResourceCache } from "./cache.ts";

/**
 * Returns events that turn the contents of `caches` into those of the store at `revision`, in the order of
 * revisions. Intermediate states are missing, so watches must not receive these events.
 */
export function differences(
  caches: Iterable<ResourceCache>,
  entries: readonly Entry[],
  revision: number,
): StoreEvent[] {
  const known = new Map<string, number>();
  for (const cache of caches) {
    for (const stored of cache.range(cache.prefix)) known.set(stored.key, stored.revision);
  }
  const events: StoreEvent[] = [];
  for (const entry of entries) {
    const { key, value, modRevision, createRevision } = entry;
    const before = known.get(key);
    known.delete(key);
    if (before === modRevision) continue;
    if (before !== undefined && (before < createRevision || before > modRevision)) {
      events.push({ type: "delete", key, value: "", revision: createRevision, createRevision });
    }
    events.push({ type: "put", key, value, revision: modRevision, createRevision });
  }
  for (const key of known.keys())
    events.push({ type: "delete", key, value: "", revision, createRevision: 0 });
  // The sort is stable: a deletion stays before its replacement.
  return events.sort((a, b) => a.revision - b.revision);
}
