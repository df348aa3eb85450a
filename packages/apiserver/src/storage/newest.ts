/**
 * Reads the newest revision of a store for many callers. A pending read may be older than a later caller, so
 * later callers wait for the next read, which they share.
 */
export class NewestRevision {
  readonly #read: () => Promise<number>;
  #pending: Promise<number> | undefined;
  #next: Promise<number> | undefined;

  constructor(read: () => Promise<number>) {
    this.#read = read;
  }

  /**
   * Returns a revision that is at least the newest one at the time of the call. Rejects with the store's
   * error.
   */
  revision(): Promise<number> {
    if (this.#pending === undefined) return this.#begin();
    const begin = (): Promise<number> => this.#begin();
    this.#next ??= this.#pending.then(begin, begin);
    return this.#next;
  }

  #begin(): Promise<number> {
    this.#next = undefined;
    const pending = this.#read();
    this.#pending = pending;
    const done = (): void => {
      if (this.#pending === pending) this.#pending = undefined;
    };
    pending.then(done, done);
    return pending;
  }
}
