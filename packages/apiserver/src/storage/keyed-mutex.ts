/** One mutex for each key: writers of one object wait for each other instead of losing races. */
export class KeyedMutex {
  /** The last work of each key that is busy. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` once all earlier work of the key has ended, however it ended. */
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
