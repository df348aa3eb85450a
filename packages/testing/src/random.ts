/** Pseudorandom choices that follow from a seed, the same on every machine (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer in [0, end). */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** An integer from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    if (values.length === 0) throw new RangeError("there is nothing to pick from");
    return values[this.below(values.length)]!;
  }

  /** Each value with that probability, in their order. */
  some<T>(values: readonly T[], probability: number): T[] {
    return values.filter(() => this.chance(probability));
  }

  shuffled<T>(values: readonly T[]): T[] {
    return values
      .map((value) => [this.next(), value] as const)
      .sort(([a], [b]) => a - b)
      .map(([, value]) => value);
  }

  /** A list of `low` to `high` elements. */
  list<T>(low: number, high: number, make: (i: number) => T): T[] {
    return Array.from({ length: this.int(low, high) }, (_, i) => make(i));
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

/**
 * The seed of a test: `DRAY_SEED`, which repeats a failure, or else `fallback`. The title or message of the
 * test names the seed.
 */
export const seedOr = (fallback: number): number => Number(process.env["DRAY_SEED"] ?? fallback);
