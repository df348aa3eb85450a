import type { Clock } from "../clock.ts";

interface Entry {
  delay: number;
  /** When the delay was last set. */
  updated: number;
}

/**
 * Delays by key that double with each attempt, up to a maximum; a key that was quiet for twice the maximum begins
 * anew. For what is retried because of what happens to it: containers that crash, pods that fail.
 *
 * Upstream: k8s.io/client-go/util/flowcontrol, Backoff.
 */
export class ItemBackOff {
  readonly #clock: Clock;
  readonly #first: number;
  readonly #longest: number;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, firstMilliseconds: number, maxMilliseconds: number) {
    this.#clock = clock;
    this.#first = firstMilliseconds;
    this.#longest = maxMilliseconds;
  }

  /** Counts one more attempt, because of what happened at `since`. */
  next(key: string, since = this.#clock.now()): void {
    const entry = this.#entries.get(key);
    const delay =
      entry === undefined || this.#isQuiet(entry, since)
        ? this.#first
        : Math.min(entry.delay * 2, this.#longest);
    this.#entries.set(key, { delay, updated: this.#clock.now() });
  }

  /** The present delay of a key: 0 before its first attempt. */
  delay(key: string): number {
    return this.#entries.get(key)?.delay ?? 0;
  }

  /** Milliseconds that are left of the delay if it began at `since`, else with the last attempt; 0 when it is over. */
  left(key: string, since?: number): number {
    const entry = this.#entries.get(key);
    const now = this.#clock.now();
    if (entry === undefined || this.#isQuiet(entry, since ?? now)) return 0;
    return Math.max(0, (since ?? entry.updated) + entry.delay - now);
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }

  /** Forgets all keys that begin like this. */
  forgetAll(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  #isQuiet({ updated }: Entry, since: number): boolean {
    return since - updated > 2 * this.#longest;
  }
}
