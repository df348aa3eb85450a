/** A mutex per key: writers of one object wait for each other instead of conflicting. */
export class KeyedMutex {
  /** The last work of each busy key. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work of the key, whether it succeeded or failed. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const own = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, own);
    try {
      return await own;
    } finally {
      if (this.#last.get(key) === own) this.#last.delete(key);
    }
  }
}
