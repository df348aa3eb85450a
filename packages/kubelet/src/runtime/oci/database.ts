import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolderSync } from "@dray/files";
import { bootId, isAlive, type ProcessIdentity, processStat } from "../host/processes.ts";

/** Milliseconds for which a process waits while another one writes. */
const busyTimeout = 30_000;
/** Interval in milliseconds at which a process checks whether a lock was released. */
const lockInterval = 25;

/** Result code SQLITE_BUSY. */
const sqliteBusy = 5;

const lockSchema = `
CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, token TEXT NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
`;

export interface ExclusiveOptions {
  readonly signal?: AbortSignal;
  /** Interval of checks in milliseconds. */
  readonly interval?: number;
}

/**
 * State that several agents on one machine share. SQLite serializes writes, and a killed process leaves
 * neither a partial change nor a lock.
 */
export class SharedDatabase {
  readonly sql: DatabaseSync;
  readonly #path: string;

  /** Opens or makes the database. `schema` must be repeatable. */
  constructor(path: string, schema: string) {
    this.#path = path;
    makeFolderSync(dirname(path), 0o700);
    try {
      // Node 20 lacks it: the package has to load there to report that.
      const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
      this.sql = new DatabaseSync(path, { timeout: busyTimeout });
      // A reboot ends what most rows are about, so writes are not synced.
      this.sql.exec("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;");
      setWriteAheadLog(this.sql);
      this.transaction(() => this.sql.exec(lockSchema + schema));
    } catch (error) {
      throw new Error(`cannot open ${path}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Runs `change` while no other process writes, and rolls it back if it throws. */
  transaction<T>(change: () => T): T {
    this.sql.exec("BEGIN IMMEDIATE");
    try {
      const result = change();
      this.sql.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.sql.isTransaction) this.sql.exec("ROLLBACK");
      throw error;
    }
  }

  /**
   * Runs `work` under a lock of this name, shared by all processes. The lock of a process that has ended is
   * void. Rejects when `signal` aborts while it waits.
   */
  async exclusively<T>(
    name: string,
    work: () => Promise<T>,
    { signal, interval = lockInterval }: ExclusiveOptions = {},
  ): Promise<T> {
    const token = randomUUID();
    signal?.throwIfAborted();
    while (!this.#acquire(name, token)) await sleep(interval, undefined, { ...(signal && { signal }) });
    try {
      return await work();
    } finally {
      this.sql.prepare("DELETE FROM locks WHERE name = ? AND token = ?").run(name, token);
    }
  }

  #acquire(name: string, token: string): boolean {
    return this.transaction(() => {
      const row = this.sql.prepare("SELECT owner FROM locks WHERE name = ?").get(name);
      if (row !== undefined && ownerIsAlive(String(row["owner"]))) return false;
      this.sql.prepare("INSERT OR REPLACE INTO locks VALUES (?, ?, ?)").run(name, token, thisOwner());
      return true;
    });
  }

  close(): void {
    if (this.sql.isOpen) this.sql.close();
  }

  toString(): string {
    return this.#path;
  }
}

/**
 * Several processes that open a new database at the same moment all change its mode: SQLite refuses all but
 * one at once, whatever the timeout, since each has read it already.
 */
function setWriteAheadLog(sql: DatabaseSync): void {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  for (let waited = 0; ; waited += lockInterval) {
    try {
      sql.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== sqliteBusy || waited >= busyTimeout) throw error;
      Atomics.wait(nothing, 0, 0, lockInterval);
    }
  }
}

interface Owner extends ProcessIdentity {
  readonly boot: string;
}

let own: string | undefined;

/** Identity of this process in rows. */
export function thisOwner(): string {
  own ??= JSON.stringify({
    pid: process.pid,
    startTime: processStat(process.pid)?.startTime ?? "",
    boot: bootId(),
  } satisfies Owner);
  return own;
}

/** Returns true if the process of a row runs. */
export function ownerIsAlive(text: string): boolean {
  // Written by this program.
  const owner = JSON.parse(text) as Owner;
  return owner.boot === bootId() && isAlive(owner);
}
