/** A sample of the text format of Prometheus. */
export interface ExposedSample {
  /** With the suffix of a histogram or summary. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Milliseconds since the epoch. */
  readonly at?: number;
}

/** A metric: everything between two lines of `# TYPE`. */
export interface ExposedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string | undefined;
  readonly samples: readonly ExposedSample[];
}

interface Open extends ExposedMetric {
  readonly samples: ExposedSample[];
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const types: ReadonlySet<string> = new Set(["counter", "gauge", "histogram", "summary", "untyped"]);
const suffixes: Readonly<Record<string, readonly string[]>> = {
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
};

/**
 * Reads the text format of Prometheus, and throws for what a careful reader refuses: a metric without a type
 * or in two places, the same series twice, counters below zero, histograms whose buckets do not add up.
 *
 * Rules: prometheus.io/docs/instrumenting/exposition_formats.
 */
export function readExposition(text: string): ReadonlyMap<string, ExposedMetric> {
  if (!text.endsWith("\n")) throw new Error("the last line must end with a newline");
  const metrics = new Map<string, Open>();
  const helps = new Map<string, string>();
  const series = new Set<string>();
  let open: Open | undefined;
  text
    .slice(0, -1)
    .split("\n")
    .forEach((line, index) => {
      try {
        const comment = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line);
        if (comment !== null) {
          const [, kind, name = "", rest = ""] = comment;
          if (!metricName.test(name)) throw new Error(`${name} is no name of a metric`);
          if (kind === "HELP") setOnce(helps, name, rest);
          else {
            if (!types.has(rest)) throw new Error(`unknown type ${rest}`);
            open = { name, type: rest, help: helps.get(name), samples: [] };
            setOnce(metrics, name, open);
          }
          return;
        }
        if (line.startsWith("#")) return;
        const sample = readSample(line);
        if (open === undefined || !belongs(sample.name, open))
          throw new Error(`${sample.name} is not below its # TYPE`);
        const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
        if (series.has(key)) throw new Error("the series is there twice");
        series.add(key);
        open.samples.push(sample);
      } catch (error) {
        throw new Error(`line ${index + 1}: ${(error as Error).message}: ${line}`, { cause: error });
      }
    });
  for (const metric of metrics.values()) checkValues(metric);
  return metrics;
}

function setOnce<T>(map: Map<string, T>, name: string, value: T): void {
  if (map.has(name)) throw new Error(`${name} is described twice`);
  map.set(name, value);
}

function belongs(sample: string, { name, type }: ExposedMetric): boolean {
  return (suffixes[type] ?? [""]).some((suffix) => sample === name + suffix);
}

function readSample(line: string): ExposedSample {
  const match = /^([^\s{]+)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$/.exec(line);
  if (match === null) throw new Error("not a sample");
  const [, name = "", labels = "", value = "", at] = match;
  if (!metricName.test(name)) throw new Error(`${name} is no name of a metric`);
  return { name, labels: readLabels(labels), value: readValue(value), ...(at && { at: Number(at) }) };
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let at = 0;
  while (at < text.length) {
    const match = /^([^=]+)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(text.slice(at));
    if (match === null) throw new Error(`not labels: ${text.slice(at)}`);
    const [whole, name = "", value = ""] = match;
    if (!labelName.test(name)) throw new Error(`${name} is no name of a label`);
    if (name in labels) throw new Error(`the label ${name} is there twice`);
    labels[name] = value.replace(/\\(.)/g, (_, one: string) => (one === "n" ? "\n" : one));
    at += whole.length;
  }
  return labels;
}

function readValue(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  if (text === "NaN") return Number.NaN;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) throw new Error(`${text} is no number`);
  return Number(text);
}

function checkValues({ name, type, samples }: ExposedMetric): void {
  if (type === "counter")
    for (const { value } of samples) if (!(value >= 0)) throw new Error(`${name}: a counter is ${value}`);
  if (type === "histogram") checkHistogram(name, samples);
}

function checkHistogram(name: string, samples: readonly ExposedSample[]): void {
  const of = (suffix: string): ExposedSample[] => samples.filter((sample) => sample.name === name + suffix);
  const key = ({ le: _, ...labels }: Readonly<Record<string, string>>): string =>
    JSON.stringify(Object.entries(labels).sort());
  const buckets = Map.groupBy(of("_bucket"), ({ labels }) => key(labels));
  const counts = new Map(of("_count").map(({ labels, value }) => [key(labels), value]));
  const sums = new Set(of("_sum").map(({ labels }) => key(labels)));
  if (counts.size !== buckets.size || sums.size !== buckets.size)
    throw new Error(`${name}: each histogram needs buckets, a sum and a count`);
  for (const [labels, own] of buckets) {
    const bounds = own.map((sample) => readValue(sample.labels["le"] ?? ""));
    for (let i = 1; i < own.length; i++)
      if (!(bounds[i]! > bounds[i - 1]!) || own[i]!.value < own[i - 1]!.value)
        throw new Error(`${name}${labels}: buckets must rise`);
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || own.at(-1)?.value !== counts.get(labels))
      throw new Error(`${name}${labels}: the last bucket must be +Inf and equal the count`);
  }
}
