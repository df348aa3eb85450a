/**
 * Reads the newest revision of a store for many callers. A pending read may be older than a later caller, so
 * later callers wait for the next read, which they share.
 */
export class Newest {
  readonly #ask: () => Promise<number>;
  #asked: Promise<number> | undefined;
  #next: Promise<number> | undefined;

  constructor(ask: () => Promise<number>) {
    this.#ask = ask;
  }

  /**
   * Returns a revision that is at least the newest one at the time of the call. Rejects with the store's
   * error.
   */
  revision(): Promise<number> {
    if (this.#asked === undefined) return this.#begin();
    const begin = (): Promise<number> => this.#begin();
    this.#next ??= this.#asked.then(begin, begin);
    return this.#next;
  }

  #begin(): Promise<number> {
    this.#next = undefined;
    const asked = this.#ask();
    this.#asked = asked;
    const done = (): void => {
      if (this.#asked === asked) this.#asked = undefined;
    };
    asked.then(done, done);
    return asked;
  }
}
