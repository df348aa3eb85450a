import { DatabaseSync, type StatementSync } from "node:sqlite";
import { Expiry, type StoreClock } from "./clock.ts";
import {
  CompactedError,
  type Compare,
  type Entry,
  type ListOptions,
  type Operation,
  type Store,
  type StoreEvent,
  type TxnResult,
} from "./store.ts";
import { type History, Watchers } from "./watchers.ts";

/**
 * A durable store in one SQLite file (WAL, every commit synced to disk). All writes of one turn of the event loop
 * share one commit. Throws if the file is not a store of ours, or is open in another process.
 */
export function sqliteStore(path: string, clock: StoreClock): Store {
  return new SqliteStore(path, clock);
}

/** One row for each write, `position` within its txn; the row of a deletion has no value. */
const schema = `
  CREATE TABLE IF NOT EXISTS writes (
    key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    value TEXT,
    created INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    expires INTEGER,
    PRIMARY KEY (key, revision)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS writes_by_revision ON writes (revision, position);
  CREATE INDEX IF NOT EXISTS writes_by_expiry ON writes (expires) WHERE expires IS NOT NULL;
  CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
`;
const applicationId = 0x44524159;

interface Row {
  readonly key: string;
  readonly revision: number;
  readonly value: string | null;
  readonly created: number;
  readonly previous: number;
}

interface Pending {
  readonly result: TxnResult;
  resolve(result: TxnResult): void;
  reject(error: unknown): void;
}

class SqliteStore implements Store, History {
  readonly #lock: DatabaseSync;
  readonly #writer: DatabaseSync;
  /** Sees only what is committed, while the writer has a transaction open. */
  readonly #reader: DatabaseSync;
  readonly #clock: StoreClock;
  readonly #expiry: Expiry;
  readonly #watchers = new Watchers(this);
  readonly #current: StatementSync;
  readonly #insert: StatementSync;
  readonly #read: ReadonlyMap<string, StatementSync>;
  /** Newest revision that is durable, and newest that is applied. */
  #durable: number;
  #applied: number;
  compacted: number;
  #pending: Pending[] = [];
  #events: StoreEvent[] = [];
  #flush: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(path: string, clock: StoreClock) {
    this.#clock = clock;
    this.#expiry = new Expiry(clock, (now) => this.#expire(now));
    this.#lock = takeLock(path);
    this.#writer = new DatabaseSync(path);
    try {
      prepareFile(this.#writer, path);
      this.#reader = new DatabaseSync(path, { readOnly: true });
    } catch (error) {
      this.#writer.close();
      this.#lock.close();
      throw error;
    }
    const state = (name: string, otherwise: number): number =>
      Number(
        this.#writer.prepare("SELECT number FROM state WHERE name = ?").get(name)?.["number"] ?? otherwise,
      );
    this.compacted = state("compacted", 0);
    const newest = this.#writer.prepare("SELECT max(revision) AS revision FROM writes").get();
    this.#durable = Math.max(Number(newest?.["revision"] ?? 0), state("revision", 1));
    this.#applied = this.#durable;
    this.#current = this.#writer.prepare("SELECT * FROM writes WHERE key = ? ORDER BY revision DESC LIMIT 1");
    this.#insert = this.#writer.prepare("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?)");
    const upTo = "(SELECT max(revision) FROM writes WHERE key = w.key AND revision <= ?)";
    const range = "w.key > ? AND w.key >= ? AND w.key < ?";
    this.#read = new Map(
      Object.entries({
        get: "SELECT * FROM writes WHERE key = ? ORDER BY revision DESC LIMIT 1",
        at: "SELECT * FROM writes WHERE key = ? AND revision = ?",
        list: `SELECT * FROM writes w WHERE ${range} AND value IS NOT NULL AND revision = ${upTo} ORDER BY key LIMIT ?`,
        count: `SELECT count(*) AS count FROM writes w WHERE ${range} AND value IS NOT NULL AND revision = ${upTo}`,
        events: "SELECT * FROM writes WHERE revision > ? AND revision <= ? ORDER BY revision, position",
        span: "SELECT revision FROM writes WHERE revision > ? AND key >= ? AND key < ? ORDER BY revision LIMIT 1 OFFSET ?",
      }).map(([name, sql]) => [name, this.#reader.prepare(sql)]),
    );
    const due = this.#nextExpiry();
    if (due !== undefined) this.#expiry.note(due);
  }

  async revision(): Promise<number> {
    return this.#durable;
  }

  async get(key: string): Promise<Entry | undefined> {
    return entryOf(this.#statement("get").get(key) as Row | undefined);
  }

  async list(prefix: string, options: ListOptions = {}) {
    const revision = options.revision ?? this.#durable;
    if (revision < this.compacted) throw new CompactedError(revision, this.compacted);
    const limit = options.limit === undefined ? -1 : options.limit + 1;
    const rows = this.#statement("list").all(
      options.after ?? "",
      prefix,
      endOf(prefix),
      revision,
      limit,
    ) as unknown[];
    const entries = rows.map((row) => entryOf(row as Row)!);
    const more = options.limit !== undefined && entries.length > options.limit;
    return { entries: more ? entries.slice(0, options.limit) : entries, revision, more };
  }

  async count(prefix: string): Promise<number> {
    return Number(this.#statement("count").get("", prefix, endOf(prefix), this.#durable)?.["count"]);
  }

  txn(compare: readonly Compare[], operations: readonly Operation[]): Promise<TxnResult> {
    if (this.#closed) return Promise.reject(new Error("the store is closed"));
    try {
      if (this.#flush === undefined) {
        this.#writer.exec("BEGIN IMMEDIATE");
        this.#flush = setImmediate(() => this.#commit());
      }
      const result = this.#apply(compare, operations);
      return new Promise((resolve, reject) => this.#pending.push({ result, resolve, reject }));
    } catch (error) {
      // What this turn wrote so far may depend on the failed write: none of it is acknowledged.
      this.#abandon(error);
      return Promise.reject(error);
    }
  }

  watch(prefix: string, from: number, signal: AbortSignal): AsyncIterable<readonly StoreEvent[]> {
    return this.#watchers.watch(prefix, from, signal);
  }

  async compact(revision: number): Promise<void> {
    this.#commit();
    const target = Math.min(revision, this.#durable);
    if (target <= this.compacted) return;
    this.#writer.exec("BEGIN IMMEDIATE");
    try {
      this.#writer
        .prepare(
          `DELETE FROM writes AS w WHERE revision <= ? AND (value IS NULL OR revision <
             (SELECT max(revision) FROM writes WHERE key = w.key AND revision <= ?))`,
        )
        .run(target, target);
      const set = this.#writer.prepare(
        "INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET number = excluded.number",
      );
      set.run("compacted", target);
      // The row with the highest revision may just have gone: revisions never repeat all the same.
      set.run("revision", this.#durable);
      this.#writer.exec("COMMIT");
    } catch (error) {
      if (this.#writer.isTransaction) this.#writer.exec("ROLLBACK");
      throw error;
    }
    this.compacted = target;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#commit();
    this.#closed = true;
    this.#expiry.close();
    this.#watchers.close();
    this.#reader.close();
    this.#writer.close();
    this.#lock.close();
  }

  eventsAfter(prefix: string, from: number, limit: number): readonly StoreEvent[] {
    // The revision at which a page is full; all of that revision belongs to the page.
    const full = this.#statement("span").get(from, prefix, endOf(prefix), limit - 1)?.["revision"];
    const rows = this.#statement("events").all(from, Number(full ?? this.#durable)) as unknown[];
    return (rows as Row[])
      .filter((row) => row.key.startsWith(prefix))
      .map((row) => {
        const before =
          row.previous === 0
            ? undefined
            : (this.#statement("at").get(row.key, row.previous) as Row | undefined);
        return eventOf(row, entryOf(before));
      });
  }

  #statement(name: string): StatementSync {
    if (this.#closed) throw new Error("the store is closed");
    return this.#read.get(name)!;
  }

  #apply(compare: readonly Compare[], operations: readonly Operation[]): TxnResult {
    const current = (key: string): Entry | undefined => entryOf(this.#current.get(key) as Row | undefined);
    if (compare.some(({ key, modRevision }) => (current(key)?.modRevision ?? 0) !== modRevision)) {
      const entries = compare.map(({ key }) => current(key)).filter((entry) => entry !== undefined);
      return { succeeded: false, revision: this.#applied, current: entries };
    }
    const revision = this.#applied + 1;
    for (const [position, operation] of operations.entries()) {
      const { key } = operation;
      const previous = current(key);
      if (operation.type === "delete" && previous === undefined) continue;
      const created = previous?.createRevision ?? revision;
      const value = operation.type === "put" ? operation.value : null;
      const due =
        operation.type === "put" && operation.ttl !== undefined
          ? this.#clock.now() + operation.ttl * 1000
          : null;
      this.#insert.run(key, revision, position, value, created, previous?.modRevision ?? 0, due);
      if (due !== null) this.#expiry.note(due);
      this.#events.push(eventOf({ key, revision, value, created, previous: 0 }, previous));
      this.#applied = revision;
    }
    return { succeeded: true, revision: this.#applied };
  }

  /** Ends the turn: one durable commit, then acknowledgements and events. */
  #commit(): void {
    if (this.#flush === undefined) return;
    clearImmediate(this.#flush);
    this.#flush = undefined;
    try {
      this.#writer.exec("COMMIT");
    } catch (error) {
      this.#abandon(error);
      return;
    }
    this.#durable = this.#applied;
    const pending = this.#pending;
    const events = this.#events;
    this.#pending = [];
    this.#events = [];
    if (events.length > 0) this.#watchers.publish(events);
    for (const { resolve, result } of pending) resolve(result);
  }

  #abandon(error: unknown): void {
    clearImmediate(this.#flush);
    this.#flush = undefined;
    if (this.#writer.isTransaction) this.#writer.exec("ROLLBACK");
    this.#applied = this.#durable;
    this.#events = [];
    const pending = this.#pending;
    this.#pending = [];
    for (const { reject } of pending) reject(error);
  }

  #expire(now: number): number | undefined {
    const rows = this.#reader
      .prepare(
        `SELECT key, revision FROM writes w WHERE expires <= ?
           AND revision = (SELECT max(revision) FROM writes WHERE key = w.key)`,
      )
      .all(now) as unknown as { key: string; revision: number }[];
    for (const { key, revision } of rows) {
      // Fails where the key was written again since: that write decides.
      this.txn([{ key, modRevision: revision }], [{ type: "delete", key }]).catch(() =>
        this.#expiry.note(now),
      );
    }
    return this.#nextExpiry(now);
  }

  #nextExpiry(after = 0): number | undefined {
    const row = this.#reader.prepare("SELECT min(expires) AS due FROM writes WHERE expires > ?").get(after);
    return row?.["due"] === null ? undefined : Number(row?.["due"]);
  }
}

function entryOf(row: Row | undefined): Entry | undefined {
  if (row === undefined || row.value === null) return undefined;
  return { key: row.key, value: row.value, modRevision: row.revision, createRevision: row.created };
}

function eventOf(row: Row, previous: Entry | undefined): StoreEvent {
  return {
    type: row.value === null ? "delete" : "put",
    key: row.key,
    value: row.value ?? previous?.value ?? "",
    revision: row.revision,
    createRevision: row.created,
    ...(previous && { previous }),
  };
}

/** The first string behind all that begin with `prefix`. */
function endOf(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}

/** SQLite's own lock on a file beside the store: it goes with the process, however that ends. */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(`${path}.lock`);
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    throw new Error(`${path} is in use by another process`, { cause: error });
  }
}

function prepareFile(database: DatabaseSync, path: string): void {
  const id = Number(database.prepare("PRAGMA application_id").get()?.["application_id"]);
  const tables = Number(database.prepare("SELECT count(*) AS count FROM sqlite_schema").get()?.["count"]);
  if (id !== applicationId && (id !== 0 || tables > 0))
    throw new Error(`${path} is a SQLite file, but no store of Dray`);
  // The mark and the tables come in one commit, so that a crash here leaves a file that opens again.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec(`BEGIN; PRAGMA application_id = ${applicationId}; ${schema} COMMIT`);
}
