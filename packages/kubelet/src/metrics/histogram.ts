type Labels = Readonly<Record<string, string>>;

interface Observed {
  /** By bucket, not cumulative; the last one is above all bounds. */
  readonly counts: number[];
  /** In seconds. */
  sum: number;
}

/** Histogram of durations, by labels. */
export class Histogram {
  readonly #name: string;
  readonly #help: string;
  /** Upper bounds of the buckets in seconds. */
  readonly #bounds: readonly number[];
  readonly #observed = new Map<string, Observed>();

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  observe(labels: Labels, milliseconds: number): void {
    const bounds = this.#bounds;
    const key = labelText(labels);
    let observed = this.#observed.get(key);
    if (observed === undefined) {
      observed = { counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 };
      this.#observed.set(key, observed);
    }
    const seconds = milliseconds / 1000;
    const bucket = bounds.findIndex((bound) => seconds <= bound);
    observed.counts[bucket < 0 ? bounds.length : bucket]!++;
    observed.sum += seconds;
  }

  lines(): string[] {
    const lines = head(this.#name, this.#help, "histogram");
    for (const [labels, { counts, sum }] of this.#observed) {
      let total = 0;
      counts.forEach((count, index) => {
        total += count;
        lines.push(`${this.#name}_bucket{${labels},le="${this.#bounds[index] ?? "+Inf"}"} ${total}`);
      });
      lines.push(`${this.#name}_sum{${labels}} ${sum}`, `${this.#name}_count{${labels}} ${total}`);
    }
    return lines;
  }
}

/** HELP and TYPE lines of a metric. */
export function head(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

/** For values such as names of drivers and resources, which need no escapes. */
export function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join();
}
