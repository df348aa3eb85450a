import { CompactedError, type Store, type StoreEvent } from "@dray/store";
import { registryPrefix } from "./keys.ts";

/** Number of past revisions that the caches load when a server starts. */
const span = 1024;
/** Maximum total length of the values that are read for it, in characters. */
const maxTextLength = 64 * 2 ** 20;
/** A key under the common prefix, of no object. */
const markKey = `${registryPrefix}health`;

/** Writes a value without meaning: its event in the watch shows that all earlier events have arrived. */
export async function writeMark(store: Store): Promise<void> {
  await store.txn([], [{ type: "put", key: markKey, value: "{}" }]);
}

/**
 * Returns the events later than `since`, up to `newest`. With them a client that watched a restarted server
 * need not list again. `reached`: an event of revision `newest` is expected; otherwise a mark is written,
 * because a store does not report the end.
 */
export async function pastEvents(
  store: Store,
  newest: number,
  reached: boolean,
  signal: AbortSignal,
): Promise<{ readonly since: number; readonly events: readonly StoreEvent[] }> {
  if (!reached) await writeMark(store);
  const last = reached ? newest : newest + 1;
  for (let back = span; back >= 1; back = Math.floor(back / 2)) {
    const since = Math.max(newest - back, 0);
    const events = await eventsBetween(store, since, last, signal);
    if (events) return { since, events: events.filter(({ revision }) => revision <= newest) };
  }
  return { since: newest, events: [] };
}

/**
 * Returns events later than `since`, up to one of revision `last` or later; undefined if they are compacted
 * or too large.
 */
async function eventsBetween(
  store: Store,
  since: number,
  last: number,
  signal: AbortSignal,
): Promise<readonly StoreEvent[] | undefined> {
  const events: StoreEvent[] = [];
  let text = 0;
  try {
    for await (const batch of store.watch(registryPrefix, since, signal)) {
      for (const event of batch) {
        // A store may have compacted the value of a deleted key.
        if (event.type === "delete" && event.previous === undefined) return undefined;
        text += event.value.length;
        events.push(event);
      }
      if (text > maxTextLength) return undefined;
      if ((events.at(-1)?.revision ?? 0) >= last) break;
    }
    return events;
  } catch (error) {
    if (error instanceof CompactedError) return undefined;
    throw error;
  }
}
