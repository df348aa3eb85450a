import { closeSync, fdatasync, openSync } from "node:fs";
import { placeCheck } from "./file.ts";

/** As `fdatasync` of node:fs. */
export type Sync = (descriptor: number, done: (error: Error | null) => void) => void;

/**
 * Puts what SQLite has written to its log (WAL) on the disk, beside the event loop: a commit that does so
 * itself would stop everything for a millisecond or more. Any descriptor of the file will do.
 */
export class LogSync {
  readonly #path: string;
  readonly #sync: Sync;
  #descriptor: number | undefined;
  #checkPlace: (() => void) | undefined;
  #running: Promise<void> | undefined;

  /** `path`: that of the database. */
  constructor(path: string, sync: Sync = fdatasync) {
    this.#path = `${path}-wal`;
    this.#sync = sync;
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  /** Calls back when what is in the log now is on the disk, or could not be put there. One at a time. */
  start(done: (error: Error | null) => void): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    const end = (error: Error | null): void => {
      this.#running = undefined;
      resolve();
      done(error);
    };
    try {
      // The log is there from the first commit until the last connection is closed.
      this.#descriptor ??= this.#open();
      this.#sync(this.#descriptor, end);
    } catch (error) {
      setImmediate(end, error as Error);
    }
  }

  #open(): number {
    const descriptor = openSync(this.#path, "r+");
    this.#checkPlace = placeCheck(this.#path);
    return descriptor;
  }

  /** Throws StoreFileError if another file, or none, has taken the place of the log since the first sync. */
  checkPlace(): void {
    this.#checkPlace?.();
  }

  /**
   * Waits for what is under way, and puts the rest there. Rejects if that fails; the file is released all the
   * same.
   */
  async close(): Promise<void> {
    await this.#running;
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    this.#descriptor = undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    try {
      this.#sync(descriptor, (error) => (error === null ? resolve() : reject(error)));
      await promise;
    } finally {
      closeSync(descriptor);
    }
  }
}
