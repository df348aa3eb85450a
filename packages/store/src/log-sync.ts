import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";

/**
 * Puts what SQLite has written to its log (WAL) on the disk, beside the event loop: a commit that does so itself would
 * stop everything for a millisecond or more. Any descriptor of the file will do.
 */
export class LogSync {
  readonly #path: string;
  #descriptor: number | undefined;
  #running: Promise<void> | undefined;

  /** `path`: that of the database. */
  constructor(path: string) {
    this.#path = `${path}-wal`;
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
      this.#descriptor ??= openSync(this.#path, "r+");
      fdatasync(this.#descriptor, end);
    } catch (error) {
      setImmediate(end, error as Error);
    }
  }

  /** Waits for what is under way, and puts the rest there at once. */
  async close(): Promise<void> {
    await this.#running;
    if (this.#descriptor === undefined) return;
    fdatasyncSync(this.#descriptor);
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
