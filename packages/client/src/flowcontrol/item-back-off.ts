import type { Clock } from "../base/clock.ts";

interface Entry {
  delay: number;
  /** When the delay was last set. */
  updated: number;
}

/**
 * Delays by key that double with each attempt up to a maximum, and start again after twice the maximum
 * without an attempt. For retries after an event, such as the crash of a container or the failure of a pod.
 *
 * Upstream: k8s.io/client-go/util/flowcontrol, Backoff.
 */
export class ItemBackOff {
  readonly #clock: Clock;
  readonly #baseDelay: number;
  readonly #maxDelay: number;
  readonly #entries = new Map<string, Entry>();

  /** Delays in milliseconds. */
  constructor(clock: Clock, baseDelay: number, maxDelay: number) {
    this.#clock = clock;
    this.#baseDelay = baseDelay;
    this.#maxDelay = maxDelay;
  }

  /** Counts one more attempt, caused by an event at `since`. */
  next(key: string, since = this.#clock.now()): void {
    const entry = this.#entries.get(key);
    const delay =
      entry === undefined || this.#isExpired(entry, since)
        ? this.#baseDelay
        : Math.min(entry.delay * 2, this.#maxDelay);
    this.#entries.set(key, { delay, updated: this.#clock.now() });
  }

  /** Returns the current delay of a key: 0 before its first attempt. */
  delay(key: string): number {
    return this.#entries.get(key)?.delay ?? 0;
  }

  /**
   * Returns the milliseconds left of the delay, which begins at `since` or else at the last attempt; 0 if it
   * is over.
   */
  left(key: string, since?: number): number {
    const entry = this.#entries.get(key);
    const now = this.#clock.now();
    if (entry === undefined || this.#isExpired(entry, since ?? now)) return 0;
    return Math.max(0, (since ?? entry.updated) + entry.delay - now);
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }

  /** Forgets all keys with this prefix. */
  forgetAll(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  #isExpired({ updated }: Entry, since: number): boolean {
    return since - updated > 2 * this.#maxDelay;
  }
}
