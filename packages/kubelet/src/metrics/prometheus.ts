/** A sample of a time series. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  /** When it was measured, in milliseconds since the epoch; the time of the scrape if absent. */
  readonly at?: number;
  /** Suffix of the series of a histogram: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
}

/** Formats a metric in the text format of Prometheus; "" without samples. */
export function metricText(
  name: string,
  help: string,
  type: "counter" | "gauge" | "histogram",
  samples: readonly Sample[],
): string {
  if (samples.length === 0) return "";
  const lines = samples.map(({ labels = {}, value, at, suffix = "" }) => {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
    const shown = pairs.length === 0 ? "" : `{${pairs.join()}}`;
    return `${name}${suffix}${shown} ${value}${at === undefined ? "" : ` ${Math.floor(at)}`}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
