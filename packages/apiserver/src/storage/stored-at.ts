import { setImmediate } from "node:timers/promises";
import type { Store } from "@dray/store";
import type { Stored } from "./cache.ts";
import { readStored, withRevision } from "./change.ts";

/** Entries that are read at once. */
const pageSize = 500;

/**
 * The objects whose key begins with `prefix`, from the key `start` on, as the store had them at `revision`. Throws
 * `CompactedError` where it no longer knows, and what else the store fails with.
 */
export async function* storedAt(
  store: Store,
  revision: number,
  prefix: string,
  start = prefix,
): AsyncGenerator<Stored> {
  // Keys are read behind another one; what lies between that and `start` is left out.
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
    // Some stores answer at once: others have their turn between two pages.
    await setImmediate();
  }
}
