import type { Clock } from "@dray/client";

interface Entry {
  delay: number;
  updated: number;
}

/**
 * Delays that double with each repetition: what follows a delay by more than twice the longest begins anew
 * (the rule for containers that crash, KEP-4603 for its times).
 */
export class BackOff {
  readonly #clock: Clock;
  readonly #first: number;
  readonly #longest: number;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, firstMilliseconds: number, longestMilliseconds: number) {
    this.#clock = clock;
    this.#first = firstMilliseconds;
    this.#longest = longestMilliseconds;
  }

  /** Counts one more attempt. */
  next(key: string): void {
    const now = this.#clock.now();
    const entry = this.#entries.get(key);
    if (entry === undefined || now - entry.updated > 2 * this.#longest)
      this.#entries.set(key, { delay: this.#first, updated: now });
    else {
      entry.delay = Math.min(entry.delay * 2, this.#longest);
      entry.updated = now;
    }
  }

  /** The present delay of a key: 0 before its first attempt. */
  delay(key: string): number {
    return this.#entries.get(key)?.delay ?? 0;
  }

  /** Milliseconds that are left of the delay if it began at `since`; 0 when the next attempt may come. */
  left(key: string, since: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined || since - entry.updated > 2 * this.#longest) return 0;
    return Math.max(0, since + entry.delay - this.#clock.now());
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }
}
