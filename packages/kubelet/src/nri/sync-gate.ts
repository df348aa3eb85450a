/**
 * Keeps what runs apart from what must be alone: while something waits to be alone, nothing else begins. (A readers-writer
 * lock that prefers writers.)
 */
export class SyncGate {
  #running = 0;
  /** Resolves when all that runs has ended. */
  #idle = Promise.withResolvers<void>();
  /** Ends when the last that is alone has. */
  #alone: Promise<unknown> | undefined;

  /** Runs beside others of its kind. */
  async shared<T>(run: () => Promise<T>): Promise<T> {
    while (this.#alone !== undefined) await this.#alone;
    this.#running++;
    try {
      return await run();
    } finally {
      this.#running--;
      if (this.#running === 0) {
        this.#idle.resolve();
        this.#idle = Promise.withResolvers();
      }
    }
  }

  /** Runs when all that runs has ended, and nothing beside it. */
  async exclusive<T>(run: () => Promise<T>): Promise<T> {
    const before = this.#alone;
    const ended = Promise.withResolvers<void>();
    const alone = ended.promise;
    this.#alone = alone;
    try {
      await before;
      while (this.#running > 0) await this.#idle.promise;
      return await run();
    } finally {
      if (this.#alone === alone) this.#alone = undefined;
      ended.resolve();
    }
  }
}
