import { DatabaseSync } from "node:sqlite";

/** Marks our files, as the format of SQLite provides. */
const applicationId = 0x44524159;

/**
 * One row for each change of a key. Its id is the place in the history: the revision, and the position within the txn.
 * A deletion has no value. `previous` is the id of the change before, or 0. The value is last, so that the rest of a
 * large row is read without it.
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

/** Positions within a revision. */
const positions = 256;

export function idOf(revision: number, position: number): number {
  return revision * positions + position;
}

export function revisionOf(id: number): number {
  return Math.floor(id / positions);
}

/** SQLite's own lock on a file beside the store: it goes with the process, however that ends. */
export function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(`${path}.lock`);
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    throw new Error(`${path} is in use by another process`, { cause: error });
  }
}

/** Opens a file for writing and brings it to the form above. Throws if it is not ours. */
export function openFile(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  try {
    const number = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
    const id = number("PRAGMA application_id");
    if (id !== applicationId && (id !== 0 || number("SELECT count(*) FROM sqlite_schema") > 0)) {
      throw new Error(`${path} is a SQLite file, but no store of Dray`);
    }
    // NORMAL: a commit is in the log when it returns, and on the disk when `LogSync` has put it there.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000");
    const former = number("SELECT count(*) FROM sqlite_schema WHERE name = 'writes'") > 0;
    // The mark and the tables come in one commit, so that a crash here leaves a file that opens again.
    database.exec(
      `BEGIN; PRAGMA application_id = ${applicationId}; ${schema} ${former ? convert : ""} COMMIT`,
    );
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
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
