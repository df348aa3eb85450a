import { statfsSync } from "node:fs";
import { dirname } from "node:path";

/** Bytes by which SQLite's shared memory grows. */
const minFree = 32 * 1024;

/** Why the file of a store cannot be used. */
export type FileProblem = "full" | "damaged" | "readOnly" | "locked" | "notOpened" | "failing" | "gone";

/** The file of a store cannot be read or written. Its text names the file and says what to do. */
export class StoreFileError extends Error {
  override readonly name = "StoreFileError";
  readonly problem: FileProblem;
  readonly path: string;

  constructor(problem: FileProblem, path: string, cause?: Error) {
    const why = cause === undefined || problem === "full" ? "" : `: ${cause.message}`;
    super(`${path} ${texts[problem]}${why}; ${advice[problem]}`, { cause });
    this.problem = problem;
    this.path = path;
  }
}

const texts: Readonly<Record<FileProblem, string>> = {
  full: "cannot be written, nothing was stored: no space is left on its disk",
  damaged: "is damaged",
  readOnly: "cannot be written",
  locked: "is in use by another process",
  notOpened: "cannot be opened",
  failing: "cannot be read or written",
  gone: "was removed or replaced while it was in use, nothing was stored",
};

const another = "use another store (--data-dir, --store)";
const advice: Readonly<Record<FileProblem, string>> = {
  full: "make room there, and writes go on",
  damaged: `restore it from a copy (with the -wal file of that copy, or none), or ${another}`,
  readOnly: `make the file and its folder writable, or ${another}`,
  locked: `end that process, or ${another}`,
  notOpened: `it has to be a file in a folder that can be written; ${another}`,
  failing: `see to its disk, or ${another}`,
  gone: "put it back if you moved it, or stop this process and start it again with what is there now",
};

/** Primary result codes of SQLite (sqlite3.h). */
const problems: ReadonlyMap<number, FileProblem> = new Map([
  [5, "locked"],
  [6, "locked"],
  [8, "readOnly"],
  [10, "failing"],
  [11, "damaged"],
  [13, "full"],
  [14, "notOpened"],
  [26, "damaged"],
]);

/** Converts SQLite's errors about the file; passes others through unchanged. */
export function fileError(path: string, error: unknown): Error {
  if (error instanceof StoreFileError || !(error instanceof Error)) return error as Error;
  const { errcode } = error as { errcode?: number };
  // The upper bits of an extended code say where it happened.
  const reported = errcode === undefined ? undefined : problems.get(errcode & 0xff);
  const problem = reported === "failing" && isFull(path) ? "full" : reported;
  return problem === undefined ? error : new StoreFileError(problem, path, error);
}

/** SQLite has no code of its own for a full disk where it makes its shared memory. */
function isFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize < minFree;
  } catch {
    return false;
  }
}

/** Does `work` on the file. Throws StoreFileError. */
export function onFile<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileError(path, error);
  }
}
