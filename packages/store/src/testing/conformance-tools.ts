import assert from "node:assert/strict";
import type { Operation, Store, StoreEvent } from "../base/store.ts";

/** Runs a test of the suite on an empty store; `elapse` lets time pass for entries that expire. */
export type Check = (
  title: string,
  body: (store: Store, elapse: (seconds: number) => Promise<void>) => Promise<void>,
) => void;

export const put = (key: string, value: string, ttl?: number): Operation => ({
  type: "put",
  key,
  value,
  ...(ttl === undefined ? {} : { ttl }),
});
export const remove = (key: string): Operation => ({ type: "delete", key });

export async function write(store: Store, ...operations: Operation[]): Promise<number> {
  const result = await store.txn([], operations);
  assert.ok(result.succeeded);
  return result.revision;
}

/** Reads events until `count` have come. */
export async function take(
  watch: AsyncIterable<readonly StoreEvent[]>,
  count: number,
): Promise<StoreEvent[]> {
  const events: StoreEvent[] = [];
  for await (const batch of watch) {
    for (const each of batch) events.push(each);
    if (events.length >= count) break;
  }
  return events;
}
