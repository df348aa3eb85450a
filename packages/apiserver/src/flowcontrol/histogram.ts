/**
 * Upper bounds in seconds.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/metrics, requestDurationSecondsBuckets
 */
const bounds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30] as const;

/** A histogram of durations for Prometheus. */
export class Histogram {
  /** Not cumulative; the last is the overflow bucket. */
  readonly #counts = new Array<number>(bounds.length + 1).fill(0);
  #sum = 0;
  #count = 0;

  observe(milliseconds: number): void {
    const seconds = milliseconds / 1000;
    let index = 0;
    while (index < bounds.length && seconds > bounds[index]!) index++;
    this.#counts[index]!++;
    this.#sum += seconds;
    this.#count++;
  }

  /** Returns the lines of the text format; empty if nothing was observed. */
  lines(name: string, labels: string): string[] {
    if (this.#count === 0) return [];
    let total = 0;
    const buckets = this.#counts.map((count, index) => {
      total += count;
      return `${name}_bucket{${labels},le="${bounds[index] ?? "+Inf"}"} ${total}`;
    });
    return [...buckets, `${name}_sum{${labels}} ${this.#sum}`, `${name}_count{${labels}} ${total}`];
  }
}
