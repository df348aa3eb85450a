import type { Entry, StoreEvent } from "../base/store.ts";
import { revisionOf } from "./file.ts";

/** A change as it lies in the file. */
export type Row = {
  readonly id: number;
  readonly key: string;
  readonly value: string | null;
  readonly created: number;
  readonly previous: number;
};

/**
 * The keys of a range, each once: from one key to the next by the index, however long their histories are.
 */
const keys = `WITH RECURSIVE keys(key) AS (
    SELECT min(key) FROM changes WHERE key > :after AND key >= :prefix AND key < :end
    UNION ALL
    SELECT (SELECT min(key) FROM changes c WHERE c.key > keys.key AND c.key < :end) FROM keys WHERE key IS NOT NULL
  )`;
/** The entries of these keys as they were before an id. */
const entries = `keys CROSS JOIN changes c
  ON c.id = (SELECT max(id) FROM changes WHERE key = keys.key AND id < :before) WHERE c.value IS NOT NULL`;

/** Columns and their decoders. */
export const reads = {
  get: "SELECT * FROM changes WHERE key = ? AND id < ? ORDER BY id DESC LIMIT 1",
  at: "SELECT * FROM changes WHERE id = ?",
  list: `${keys} SELECT c.* FROM ${entries} LIMIT :limit`,
  count: `${keys} SELECT count(*) AS count FROM ${entries}`,
  events: "SELECT * FROM changes WHERE id >= ? AND id < ? ORDER BY id",
  span: "SELECT id FROM changes WHERE id >= ? AND key >= ? AND key < ? ORDER BY id LIMIT 1 OFFSET ?",
  due: `SELECT key, id FROM changes c WHERE expires <= ?
    AND id = (SELECT max(id) FROM changes WHERE key = c.key)`,
  nextDue: "SELECT min(expires) AS due FROM changes WHERE expires > ?",
} as const;

/** Undefined for a deletion. */
export function entryOf(row: Row | undefined): Entry | undefined {
  if (row === undefined || row.value === null) return undefined;
  return { key: row.key, value: row.value, modRevision: revisionOf(row.id), createRevision: row.created };
}

export function eventOf(row: Row, previous: Entry | undefined): StoreEvent {
  return {
    type: row.value === null ? "delete" : "put",
    key: row.key,
    value: row.value ?? previous?.value ?? "",
    revision: revisionOf(row.id),
    createRevision: row.created,
    ...(previous && { previous }),
  };
}
