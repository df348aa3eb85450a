/** From first to last, both included. */
type Interval = readonly [first: number, last: number];

/** A set of completion indexes, held as the ranges that the status of a Job writes: `0,2-5,7`. */
export class JobIndexes {
  static readonly none = new JobIndexes([]);
  /** In ascending order, with gaps between them. */
  readonly #intervals: readonly Interval[];

  private constructor(intervals: readonly Interval[]) {
    this.#intervals = intervals;
  }

  /** Reads a text; indexes that are not below `completions` and ranges that cannot be read are left out. */
  static parse(text: string | undefined, completions: number): JobIndexes {
    const intervals = (text ?? "").split(",").flatMap((range): Interval[] => {
      const [, first, last = first] = /^([0-9]+)(?:-([0-9]+))?$/.exec(range) ?? [];
      if (first === undefined || Number(first) >= completions) return [];
      return [[Number(first), Math.min(Number(last), completions - 1)]];
    });
    return JobIndexes.none.#joined(intervals);
  }

  with(indexes: Iterable<number>): JobIndexes {
    return this.#joined(Array.from(indexes, (index): Interval => [index, index]));
  }

  and(other: JobIndexes): JobIndexes {
    return this.#joined(other.#intervals);
  }

  #joined(more: readonly Interval[]): JobIndexes {
    const result: [number, number][] = [];
    for (const [first, last] of [...this.#intervals, ...more].sort(([a], [b]) => a - b)) {
      const before = result.at(-1);
      if (before === undefined || first > before[1] + 1) result.push([first, last]);
      else before[1] = Math.max(before[1], last);
    }
    return new JobIndexes(result);
  }

  get size(): number {
    return this.#intervals.reduce((total, [first, last]) => total + last - first + 1, 0);
  }

  has(index: number): boolean {
    return this.#intervals.some(([first, last]) => first <= index && index <= last);
  }

  /** Returns how many indexes are in both. */
  shared(other: JobIndexes): number {
    let count = 0;
    for (const [first, last] of this.#intervals)
      for (const [otherFirst, otherLast] of other.#intervals)
        count += Math.max(0, Math.min(last, otherLast) - Math.max(first, otherFirst) + 1);
    return count;
  }

  /** The lowest `count` indexes below `completions` that are not in the set. */
  missing(count: number, completions: number): number[] {
    const result: number[] = [];
    let candidate = 0;
    for (const [first, last] of [...this.#intervals, [completions, completions] as const]) {
      for (; candidate < Math.min(first, completions) && result.length < count; candidate++)
        result.push(candidate);
      candidate = Math.max(candidate, last + 1);
    }
    return result;
  }

  toString(): string {
    return this.#intervals
      .map(([first, last]) => {
        if (last === first) return `${first}`;
        return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
      })
      .join(",");
  }
}
