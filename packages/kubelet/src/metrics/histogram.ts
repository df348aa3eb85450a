type Labels = Readonly<Record<string, string>>;

interface Observed {
  /** By bound, not cumulative; the last is beyond all bounds. */
  readonly counts: number[];
  /** Seconds. */
  sum: number;
}

/** Durations of one kind, by labels. */
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

/** The lines before those of a metric. */
export function head(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

/** For names of drivers, resources and the like, in which nothing must be escaped. */
export function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join();
}
