/** Values of labels, in the order of their names. */
type Values = readonly string[];

/** Returns values by the labels' values. */
type Reading = () => Iterable<readonly [Values, number]>;

interface Metric {
  lines(): readonly string[];
}

/** A metric that is read when it is scraped. */
interface ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly type: "gauge" | "counter";
}

/** Upper bounds: `count` of them from `start`, each `factor` times the one before. */
export function exponentialBuckets(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number((start * factor ** i).toPrecision(12)));
}

/**
 * Metrics in the text format of Prometheus. An observation costs a third of one of prom-client, and a
 * program does not load a library for metrics that may never be read.
 */
export class MetricsRegistry {
  readonly #metrics: Metric[] = [];

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    return this.#add(new Counter(name, help, labels));
  }

  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labels: readonly string[] = [],
  ): Histogram {
    return this.#add(new Histogram(name, help, bounds, labels));
  }

  /** Reads a gauge when the metrics are scraped: values by the labels' values. */
  gauge(name: string, help: string, labels: readonly string[], read: Reading): void {
    this.#addRead({ name, help, labels, type: "gauge" }, read);
  }

  /** As `gauge`, for a count that something else keeps. */
  counterOf(name: string, help: string, labels: readonly string[], read: Reading): void {
    this.#addRead({ name, help, labels, type: "counter" }, read);
  }

  #addRead({ name, help, labels, type }: ReadMetric, read: Reading): void {
    this.#add({
      lines() {
        const lines = [...read()].map(([values, value]) => `${name}${labelText(labels, values)} ${value}`);
        return [...head(name, help, type), ...lines];
      },
    });
  }

  text(): string {
    return `${this.#metrics.flatMap((metric) => metric.lines()).join("\n")}\n`;
  }

  #add<T extends Metric>(metric: T): T {
    this.#metrics.push(metric);
    return metric;
  }
}

function head(name: string, help: string, type: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function labelText(names: readonly string[], values: Values, more = ""): string {
  const escaped = (value: string): string =>
    value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  const pairs = names.map((name, i) => `${name}="${escaped(values[i] ?? "")}"`);
  if (more !== "") pairs.push(more);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const keyOf = (values: Values): string => values.join("\0");

export class Counter implements Metric {
  readonly #name: string;
  readonly #help: string;
  readonly #labels: readonly string[];
  readonly #counts = new Map<string, { readonly values: Values; count: number }>();

  constructor(name: string, help: string, labels: readonly string[]) {
    this.#name = name;
    this.#help = help;
    this.#labels = labels;
    if (labels.length === 0) this.add([], 0);
  }

  add(values: Values = [], amount = 1): void {
    const key = keyOf(values);
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { values, count: amount });
    else known.count += amount;
  }

  lines(): readonly string[] {
    const lines = [...this.#counts.values()].map(
      ({ values, count }) => `${this.#name}${labelText(this.#labels, values)} ${count}`,
    );
    return [...head(this.#name, this.#help, "counter"), ...lines];
  }
}

interface Observed {
  readonly values: Values;
  /** By bound, not cumulative; the last is beyond all bounds. */
  readonly counts: number[];
  sum: number;
}

export class Histogram implements Metric {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #labels: readonly string[];
  readonly #observed = new Map<string, Observed>();

  constructor(name: string, help: string, bounds: readonly number[], labels: readonly string[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
    this.#labels = labels;
  }

  observe(value: number, values: Values = []): void {
    const key = keyOf(values);
    let observed = this.#observed.get(key);
    if (observed === undefined) {
      observed = { values, counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 };
      this.#observed.set(key, observed);
    }
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    observed.counts[bucket]!++;
    observed.sum += value;
  }

  lines(): readonly string[] {
    const lines = [...head(this.#name, this.#help, "histogram")];
    for (const { values, counts, sum } of this.#observed.values()) {
      let total = 0;
      counts.forEach((count, i) => {
        total += count;
        const bound = `le="${this.#bounds[i] ?? "+Inf"}"`;
        lines.push(`${this.#name}_bucket${labelText(this.#labels, values, bound)} ${total}`);
      });
      const labels = labelText(this.#labels, values);
      lines.push(`${this.#name}_sum${labels} ${sum}`, `${this.#name}_count${labels} ${total}`);
    }
    return lines;
  }
}
