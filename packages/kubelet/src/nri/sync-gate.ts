/**
 * A readers-writer lock that prefers writers: while something waits for exclusive access, nothing else
 * begins.
 */
export class SyncGate {
  #running = 0;
  /** Resolves when all shared runs have ended. */
  #idle = Promise.withResolvers<void>();
  /** Resolves when the last exclusive run has ended. */
  #alone: Promise<unknown> | undefined;

  /** Runs concurrently with other shared runs. */
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

  /** Runs when all others have ended, and alone. */
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
