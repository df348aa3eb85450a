/**
 * Asks a store for its newest revision on behalf of many readers. An answer may be older than a reader that came while
 * it was under way, so that such readers wait for the next question, which they share.
 */
export class Newest {
  readonly #ask: () => Promise<number>;
  #asked: Promise<number> | undefined;
  #next: Promise<number> | undefined;

  constructor(ask: () => Promise<number>) {
    this.#ask = ask;
  }

  /** A revision that is at least the newest one of the moment of the call. Rejects as the store does. */
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
