import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";
import { Expiry, type StoreClock } from "../base/clock.ts";
import {
  CompactedError,
  type Compare,
  checkOperations,
  checkRevision,
  type Entry,
  type ListOptions,
  type Operation,
  type Store,
  type StoreEvent,
  type TxnResult,
} from "../base/store.ts";
import { type History, Watchers } from "../watch/watchers.ts";
import { fileError, onFile, StoreFileError } from "./error.ts";
import { idOf, openFile, placeCheck, revisionOf, takeLock } from "./file.ts";
import { LogSync } from "./log-sync.ts";
import { Reader } from "./reader.ts";
import { entryOf, eventOf, type Row, reads } from "./rows.ts";

/**
 * A durable store in one SQLite file (WAL). All writes of one turn of the event loop, and those that come
 * while the ones before are put on the disk, share one commit; they are acknowledged when it is on the disk.
 * Throws if the file is not a store of ours, or is open in another process.
 */
export function sqliteStore(path: string, clock: StoreClock): Store {
  return new SqliteStore(path, clock);
}

/** Changes that compaction looks at in one turn of the event loop. */
const compactionStep = 1_000;

interface Pending {
  readonly result: TxnResult;
  resolve(result: TxnResult): void;
  reject(error: unknown): void;
}

export class SqliteStore implements Store, History {
  readonly #lock: DatabaseSync;
  readonly #writer: DatabaseSync;
  readonly #reader: Reader;
  readonly name: string;
  /** Throws where the file is no longer the one at the path. */
  readonly #checkPlace: () => void;
  readonly #clock: StoreClock;
  readonly #expiry: Expiry;
  readonly #watchers = new Watchers(this);
  readonly #current: StatementSync;
  readonly #insert: StatementSync;
  readonly #log: LogSync;
  /** Newest revision that is on the disk, newest that is committed, and newest that is applied. */
  #durable: number;
  #committed: number;
  #applied: number;
  compacted: number;
  #compaction: Promise<void> = Promise.resolve();
  /** Writes of the open transaction, and those that are committed and not yet on the disk. */
  #pending: Pending[] = [];
  #events: StoreEvent[] = [];
  #unsynced: { readonly pending: Pending[]; readonly events: StoreEvent[] } = { pending: [], events: [] };
  #open = false;
  /** The last sync has failed. */
  #logIsLost = false;
  #flush: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(path: string, clock: StoreClock, log = new LogSync(path)) {
    this.name = path;
    this.#clock = clock;
    this.#expiry = new Expiry(clock, (now) => this.#expire(now));
    this.#log = log;
    this.#lock = takeLock(path);
    const opened = [this.#lock];
    try {
      this.#writer = openFile(path);
      opened.push(this.#writer);
      this.#checkPlace = placeCheck(path);
      const { compacted, revision } = onFile(path, () => stateOf(this.#writer));
      this.compacted = compacted;
      this.#durable = revision;
      this.#committed = revision;
      this.#applied = revision;
      this.#current = this.#writer.prepare(reads.get);
      this.#insert = this.#writer.prepare(
        "INSERT INTO changes (id, key, created, previous, expires, value) VALUES (?, ?, ?, ?, ?, ?)",
      );
      this.#reader = new Reader(path);
      const due = this.#reader.nextDue(0);
      if (due !== undefined) this.#expiry.note(due);
    } catch (error) {
      closeAll(opened);
      throw error;
    }
  }

  async revision(): Promise<number> {
    return this.#durable;
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#reader.get(key, this.#durable);
  }

  async list(prefix: string, options: ListOptions = {}) {
    const { revision = this.#durable } = options;
    if (revision < this.compacted) throw new CompactedError(revision);
    checkRevision(revision, this.#durable);
    return this.#reader.list(prefix, revision, options);
  }

  async count(prefix: string): Promise<number> {
    return this.#reader.count(prefix, this.#durable);
  }

  txn(compare: readonly Compare[], operations: readonly Operation[]): Promise<TxnResult> {
    if (this.#closed) return Promise.reject(new Error("the store is closed"));
    try {
      checkOperations(operations);
    } catch (error) {
      return Promise.reject(error);
    }
    try {
      if (!this.#open) {
        this.#writer.exec("BEGIN IMMEDIATE");
        this.#open = true;
        // The end of a running sync commits.
        if (!this.#log.running) this.#flush = setImmediate(() => this.#commit());
      }
      const result = this.#apply(compare, operations);
      return new Promise((resolve, reject) => this.#pending.push({ result, resolve, reject }));
    } catch (error) {
      const failure = fileError(this.name, error);
      // Earlier writes of this turn may depend on the failed one: none is acknowledged.
      this.#abandon(failure);
      return Promise.reject(failure);
    }
  }

  watch(prefix: string, from: number, signal: AbortSignal): AsyncIterable<readonly StoreEvent[]> {
    return this.#watchers.watch(prefix, from, signal);
  }

  compact(revision: number): Promise<void> {
    this.#compaction = this.#compaction.then(
      () => this.#compact(revision),
      () => this.#compact(revision),
    );
    return this.#compaction;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#commit();
    this.#closed = true;
    const failure = await this.#log.close().then(
      () => this.#moveLog(),
      (error: unknown) => fileError(this.name, error),
    );
    // A failed sync is the answer to the writes that wait for it, and no reason to keep the file.
    this.#settle(failure);
    this.#expiry.close();
    this.#watchers.close();
    closeAll([this.#reader, this.#writer, this.#lock]);
  }

  eventsAfter(prefix: string, from: number, limit: number): readonly StoreEvent[] {
    return this.#reader.eventsAfter(prefix, from, limit, this.#durable);
  }

  #apply(compare: readonly Compare[], operations: readonly Operation[]): TxnResult {
    const rows = new Map<string, Row | undefined>();
    const current = (key: string): Row | undefined => {
      if (!rows.has(key)) rows.set(key, this.#current.get(key, Number.MAX_SAFE_INTEGER) as Row | undefined);
      return rows.get(key);
    };
    const entry = (key: string): Entry | undefined => entryOf(current(key));
    if (compare.some(({ key, modRevision }) => (entry(key)?.modRevision ?? 0) !== modRevision)) {
      const entries = compare.map(({ key }) => entry(key)).filter((entry) => entry !== undefined);
      return { succeeded: false, revision: this.#applied, current: entries };
    }
    const revision = this.#applied + 1;
    for (const [position, operation] of operations.entries()) {
      const { key } = operation;
      const row = current(key);
      const previous = entryOf(row);
      if (operation.type === "delete" && previous === undefined) continue;
      const id = idOf(revision, position);
      const created = previous?.createRevision ?? revision;
      const before = row === undefined || previous === undefined ? 0 : row.id;
      const value = operation.type === "put" ? operation.value : null;
      const due =
        operation.type === "put" && operation.ttl !== undefined
          ? this.#clock.now() + operation.ttl * 1000
          : null;
      this.#insert.run(id, key, created, before, due, value);
      if (due !== null) this.#expiry.note(due);
      this.#events.push(eventOf({ id, key, value, created, previous: before }, previous));
      this.#applied = revision;
    }
    return { succeeded: true, revision: this.#applied };
  }

  /** Ends the transaction, and has it put on the disk. */
  #commit(): void {
    if (!this.#open) return;
    clearImmediate(this.#flush);
    try {
      this.#checkPlaces();
      this.#writer.exec("COMMIT");
    } catch (error) {
      this.#abandon(fileError(this.name, error));
      return;
    }
    this.#open = false;
    this.#committed = this.#applied;
    const { pending, events } = this.#unsynced;
    this.#unsynced = { pending: pending.concat(this.#pending), events: events.concat(this.#events) };
    this.#pending = [];
    this.#events = [];
    if (!this.#log.running) this.#sync();
  }

  #sync(): void {
    const { pending, events } = this.#unsynced;
    const revision = this.#committed;
    this.#unsynced = { pending: [], events: [] };
    this.#log.start((failure) => {
      const error = failure === null ? this.#moveLog() : fileError(this.name, failure);
      this.#logIsLost = error !== null;
      this.#settle(error, { pending, events }, revision);
      if (this.#closed) return;
      this.#commit();
      if (!this.#log.running && this.#unsynced.pending.length > 0) this.#sync();
    });
  }

  /**
   * After a sync that failed, the system may take for written what never came to the disk (fsync(2), Linux
   * 4.16 and later: an error is reported once). The log then counts only when it is in the file itself.
   */
  #moveLog(): Error | null {
    if (!this.#logIsLost) return null;
    try {
      this.#commit();
      const moved = this.#writer.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      return moved?.["busy"] === 0 ? null : new StoreFileError("failing", this.name);
    } catch (error) {
      return fileError(this.name, error);
    }
  }

  /** Acknowledges what is on the disk. After a failed sync the file has it all the same. */
  #settle(error: Error | null, { pending, events } = this.#unsynced, revision = this.#committed): void {
    this.#durable = revision;
    if (events.length > 0) this.#watchers.publish(events);
    for (const { resolve, reject, result } of pending) {
      if (error === null) resolve(result);
      else reject(error);
    }
  }

  /** Takes back what this turn has written. */
  #abandon(error: unknown): void {
    clearImmediate(this.#flush);
    this.#open = false;
    this.#applied = this.#committed;
    this.#events = [];
    const pending = this.#pending;
    this.#pending = [];
    for (const { reject } of pending) reject(error);
    this.#rollBack();
  }

  #checkPlaces(): void {
    this.#checkPlace();
    this.#log.checkPlace();
  }

  #rollBack(): void {
    try {
      // After some errors SQLite has done so by itself.
      if (this.#writer.isTransaction) this.#writer.exec("ROLLBACK");
    } catch {
      // The error that led here is reported; the next write, which cannot begin, comes back here.
    }
  }

  /** In steps, between which other work runs: a long history must not block the process. */
  async #compact(revision: number): Promise<void> {
    const target = Math.min(revision, this.#durable);
    if (target <= this.compacted || this.#closed) return;
    this.#transaction(() => {
      const set = this.#writer.prepare(
        "INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET number = excluded.number",
      );
      set.run("compacted", target);
      // The newest change may be one that goes: revisions never repeat all the same.
      set.run("revision", this.#committed);
    });
    this.compacted = target;
    const end = idOf(target + 1, 0);
    const step = this.#writer.prepare(
      "SELECT id FROM changes WHERE id >= ? AND id < ? ORDER BY id LIMIT 1 OFFSET ?",
    );
    // Oldest first: what a deletion hides is gone before the deletion is.
    const forget =
      this.#writer.prepare(`DELETE FROM changes WHERE id >= :begin AND id < :to AND (value IS NULL OR
      id < (SELECT max(id) FROM changes c WHERE c.key = changes.key AND c.id < :end))`);
    let begin = 0;
    while (begin < end && !this.#closed) {
      const to = Number(step.get(begin, end, compactionStep)?.["id"] ?? end);
      this.#transaction(() => forget.run({ begin, to, end }));
      begin = to;
      await turn();
    }
  }

  /** A commit of its own, after what this turn has written so far. */
  #transaction(work: () => void): void {
    this.#commit();
    try {
      this.#checkPlaces();
      this.#writer.exec("BEGIN IMMEDIATE");
      work();
      this.#writer.exec("COMMIT");
    } catch (error) {
      this.#rollBack();
      throw fileError(this.name, error);
    }
  }

  #expire(now: number): number | undefined {
    try {
      for (const { key, id } of this.#reader.due(now)) {
        // Fails where the key was written again since: that write decides.
        this.txn([{ key, modRevision: revisionOf(id) }], [{ type: "delete", key }]).catch(() =>
          this.#expiry.note(now),
        );
      }
      return this.#reader.nextDue(now);
    } catch {
      // The file cannot be read: writes report that. Expired keys stay until it can.
      return now;
    }
  }
}

/** Closes all of them, then throws the first error. */
function closeAll(opened: readonly { close(): void }[]): void {
  const errors = opened.flatMap((each): unknown[] => {
    try {
      each.close();
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (errors.length > 0) throw errors[0];
}

function stateOf(database: DatabaseSync): { readonly compacted: number; readonly revision: number } {
  const number = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0);
  return {
    compacted: number("SELECT number FROM state WHERE name = 'compacted'"),
    revision: Math.max(
      revisionOf(number("SELECT max(id) FROM changes")),
      number("SELECT number FROM state WHERE name = 'revision'"),
      1,
    ),
  };
}
