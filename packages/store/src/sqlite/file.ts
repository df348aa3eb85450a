import { statSync } from "node:fs";
import type { DatabaseSync, DatabaseSyncOptions } from "node:sqlite";
import { fileError, onFile, StoreFileError } from "./error.ts";

/** Marks our files, as the format of SQLite provides. */
const applicationId = 0x44524159;

/** Counts up when an older Dray would read the tables wrongly. Files from before it was written have 0. */
const format = 1;

/**
 * One row for each change of a key. Its id is the place in the history: the revision, and the position within
 * the txn. A deletion has no value. `previous` is the id of the change before, or 0. The value is last, so
 * that the rest of a large row is read without it.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS changes (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    expires INTEGER,
    value TEXT
  );
  CREATE UNIQUE INDEX IF NOT EXISTS changes_by_key ON changes (key, id);
  CREATE INDEX IF NOT EXISTS changes_by_expiry ON changes (expires) WHERE expires IS NOT NULL;
  CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
`;

/**
 * Opens a file with node:sqlite. That is loaded here only: other stores do without it, and Node 20 lacks it.
 */
export function openDatabase(path: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  return new DatabaseSync(path, options);
}

/** Positions within a revision. */
const positions = 256;

export function idOf(revision: number, position: number): number {
  return revision * positions + position;
}

export function revisionOf(id: number): number {
  return Math.floor(id / positions);
}

/**
 * SQLite's own lock on a file beside the store: it goes with the process, however that ends. Throws
 * StoreFileError.
 */
export function takeLock(path: string): DatabaseSync {
  const file = `${path}.lock`;
  const lock = onFile(file, () => openDatabase(file));
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    const problem = fileError(file, error);
    // The lock says it of the store.
    if (problem instanceof StoreFileError && problem.problem === "locked") {
      throw new StoreFileError("locked", path, error as Error);
    }
    throw problem;
  }
}

/** Opens a file for writing and brings it to the form above. Throws if it is not ours, and StoreFileError. */
export function openFile(path: string): DatabaseSync {
  const database = onFile(path, () => openDatabase(path));
  try {
    onFile(path, () => prepare(database, path));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function prepare(database: DatabaseSync, path: string): void {
  const number = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  const id = number("PRAGMA application_id");
  if (id !== applicationId && (id !== 0 || number("SELECT count(*) FROM sqlite_schema") > 0)) {
    throw new Error(`${path} is a SQLite file, but not a store of Dray; name another`);
  }
  const found = number("PRAGMA user_version");
  if (found > format) {
    throw new Error(
      `${path} was written by a newer Dray (format ${found}; this one knows ${format}): use that Dray, or another store (--data-dir, --store)`,
    );
  }
  // NORMAL: a commit is in the log when it returns, and on the disk when `LogSync` has put it there.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000");
  const former = number("SELECT count(*) FROM sqlite_schema WHERE name = 'writes'") > 0;
  // The mark and the tables come in one commit, so that a crash here leaves a file that opens again.
  const marks = `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${format};`;
  database.exec(`BEGIN; ${marks} ${schema} ${former ? convert : ""} COMMIT`);
}

/**
 * Returns a check that throws StoreFileError if another file, or none, has since taken the place of the one
 * at `path`: SQLite would go on with a file that has no path.
 */
export function placeCheck(path: string): () => void {
  const opened = statSync(path);
  return () => {
    const now = statSync(path, { throwIfNoEntry: false });
    if (now?.ino !== opened.ino || now.dev !== opened.dev) throw new StoreFileError("gone", path);
  };
}

/** From the table that version 0.1 had, with key and revision as its key. */
const convert = `
  INSERT INTO changes (id, key, created, previous, expires, value)
    SELECT w.revision * ${positions} + w.position, w.key, w.created,
      ifnull((SELECT p.revision * ${positions} + p.position FROM writes p
        WHERE p.key = w.key AND p.revision = w.previous), 0),
      w.expires, w.value
    FROM writes w;
  DROP TABLE writes;
`;
