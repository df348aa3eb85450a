import { CompactedError, endOf } from "../base/store.ts";
import type { Of } from "./codec.ts";
import { type Connection, errorOf } from "./connection.ts";
import { range, watch } from "./messages.ts";

type Event = Of<(typeof watch)["response"]>["events"][number];

/**
 * Events of keys that begin with `prefix`, later than `from`; ends when the signal aborts. A response of etcd
 * has the events of whole revisions: it splits them only for clients that ask for fragments. Reading slowly
 * slows down etcd's sending, which then reads from its history.
 */
export async function* watchEvents(
  connection: Connection,
  prefix: string,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Event[]> {
  const create = { key: prefix, rangeEnd: endOf(prefix), startRevision: from + 1, previous: true };
  const stream = await unless(signal, connection.stream(watch, { create }, signal));
  if (stream === undefined) return;
  const cancel = (): void => stream.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for await (const response of stream as AsyncIterable<Of<(typeof watch)["response"]>>) {
      if (response.compactRevision > 0) throw new CompactedError(from);
      if (response.canceled) throw new Error(response.cancelReason || "etcd has ended the watch");
      // etcd lets a watch begin at the very revision of a compaction, though a deletion there is forgotten.
      if (response.created) await checkHistory(connection, prefix, from);
      if (response.events.length > 0) yield response.events;
    }
    if (!signal.aborted) throw new Error("etcd has ended the stream of the watch");
  } catch (error) {
    if (!signal.aborted) throw error instanceof CompactedError ? error : errorOf(error);
  } finally {
    signal.removeEventListener("abort", cancel);
    stream.cancel();
  }
}

/** Throws `CompactedError` if etcd has compacted events after `revision`. */
async function checkHistory(connection: Connection, key: string, revision: number): Promise<void> {
  try {
    await connection.call(range, { key, revision: Math.max(revision, 1), countOnly: true }, false);
  } catch (error) {
    if (error instanceof CompactedError) throw error;
    // A revision in the future: there is nothing to forget.
    if (!/future revision/.test(String(error))) throw error;
  }
}

/** Result of `work`, or undefined as soon as the signal aborts. */
async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const aborted = (): void => resolve(undefined);
  signal.addEventListener("abort", aborted, { once: true });
  if (signal.aborted) aborted();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", aborted);
  }
}
