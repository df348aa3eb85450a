import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolderSync } from "@dray/files";
import { bootId, isAlive, type ProcessIdentity, processStat } from "../host/processes.ts";

/** Time in milliseconds for which a process waits while another one writes. */
const busyTimeout = 30_000;
/** Interval in milliseconds at which a process looks whether another one has given a lock back. */
const lockInterval = 25;

const lockSchema = `
CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, token TEXT NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
`;

export interface ExclusiveOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds between two looks. */
  readonly interval?: number;
}

/**
 * What several agents on one machine keep together. SQLite lets one of them write at a time, and a process that is
 * killed leaves neither half a change nor a lock that lasts.
 */
export class SharedDatabase {
  readonly sql: DatabaseSync;
  readonly #path: string;

  /** Opens or makes the database. `schema` must do no harm when it is run again. */
  constructor(path: string, schema: string) {
    this.#path = path;
    makeFolderSync(dirname(path), 0o700);
    try {
      // Node 20 lacks it: the package has to load there to say so.
      const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
      this.sql = new DatabaseSync(path, { timeout: busyTimeout });
      // With the machine ends what most of it tells of: no wait for the disk.
      this.sql.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;");
      this.transaction(() => this.sql.exec(lockSchema + schema));
    } catch (error) {
      throw new Error(`cannot open ${path}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Runs `change` while no other process writes; nothing of it stays if it throws. */
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
   * Runs `work` while nobody else in this or another process runs one of the same name. The lock of a process that has
   * ended is void. While it waits, rejects when `signal` aborts.
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

interface Owner extends ProcessIdentity {
  readonly boot: string;
}

let own: string | undefined;

/** This process, as rows name it. */
export function thisOwner(): string {
  own ??= JSON.stringify({
    pid: process.pid,
    startTime: processStat(process.pid)?.startTime ?? "",
    boot: bootId(),
  } satisfies Owner);
  return own;
}

/** Whether the process that a row names still runs. */
export function ownerIsAlive(text: string): boolean {
  const owner = JSON.parse(text) as Owner;
  return owner.boot === bootId() && isAlive(owner);
}
