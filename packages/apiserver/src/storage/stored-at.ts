import { setImmediate } from "node:timers/promises";
import type { Store } from "@dray/store";
import type { Stored } from "./cache.ts";
import { readStored, withRevision } from "./change.ts";

/** Entries per page. */
const pageSize = 500;

/**
 * Yields objects whose key begins with `prefix`, from the key `start` on, as the store had them at
 * `revision`. Throws `CompactedError` if it is compacted, and other errors of the store.
 */
export async function* storedAt(
  store: Store,
  revision: number,
  prefix: string,
  start = prefix,
): AsyncGenerator<Stored> {
  // The store lists keys after a given one; keys between it and `start` are skipped.
  let after = start.replace(/.$/su, "");
  while (true) {
    const { entries, more } = await store.list(prefix, { revision, after, limit: pageSize });
    for (const { key, value, modRevision } of entries) {
      if (key < start) continue;
      yield { key, object: withRevision(readStored(key, value), modRevision), revision: modRevision };
    }
    const last = entries.at(-1);
    if (!more || last === undefined) return;
    after = last.key;
    // Some stores respond synchronously: this yields to other work between two pages.
    await setImmediate();
  }
}
