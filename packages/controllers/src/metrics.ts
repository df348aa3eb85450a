type Labels = Readonly<Record<string, string>>;

interface Described {
  readonly help: string;
  /** Upper bounds of a histogram; a counter has none. */
  readonly bounds?: readonly number[];
}

/** Upstream: pkg/controller/devicetainteviction/metrics, resourcepoolstatusrequest/metrics; dynamic-resource-allocation/resourceclaim/metrics. */
const described = {
  device_taint_eviction_controller_pod_deletion_duration_seconds: {
    help: "[ALPHA] Latency, in seconds, between the time when a device taint effect has been activated and a Pod's deletion via DeviceTaintEvictionController.",
    bounds: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
  },
  device_taint_eviction_controller_pod_deletions_total: {
    help: "[ALPHA] Total number of Pods deleted by DeviceTaintEvictionController since its start.",
  },
  resourcepoolstatusrequest_controller_request_processing_duration_seconds: {
    help: "[ALPHA] Time taken to process a ResourcePoolStatusRequest",
    bounds: Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index),
  },
  resourcepoolstatusrequest_controller_request_processing_errors_total: {
    help: "[ALPHA] Total number of errors encountered while processing ResourcePoolStatusRequests",
  },
  resourcepoolstatusrequest_controller_requests_processed_total: {
    help: "[ALPHA] Total number of ResourcePoolStatusRequests processed",
  },
} as const satisfies Readonly<Record<string, Described>>;

export type MetricName = keyof typeof described;

const names = Object.keys(described) as MetricName[];

interface Series {
  /** Of a histogram: how many values are in each bucket, and beyond all of them. */
  readonly buckets: number[];
  count: number;
  sum: number;
}

/** What the controllers count, under the names of kube-controller-manager. */
export class ControllerMetrics {
  /** By metric, then by the text of the labels. */
  readonly #series = Object.fromEntries(names.map((name) => [name, new Map()])) as Record<
    MetricName,
    Map<string, Series>
  >;

  /** Raises a counter by one. */
  count(name: MetricName, labels: Labels = {}): void {
    this.#of(name, labels).count++;
  }

  /** Adds a value to a histogram. */
  observe(name: MetricName, value: number, labels: Labels = {}): void {
    const series = this.#of(name, labels);
    const bounds = boundsOf(name);
    const bucket = bounds.findIndex((bound) => value <= bound);
    series.buckets[bucket < 0 ? bounds.length : bucket]!++;
    series.count++;
    series.sum += value;
  }

  /** In the text format of Prometheus. */
  text(): string {
    const lines: string[] = [];
    for (const name of names) {
      const { help } = described[name];
      const bounds = boundsOf(name);
      const type = bounds.length > 0 ? "histogram" : "counter";
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      for (const [labels, series] of this.#series[name])
        for (const line of linesOf(name, labels, series, bounds)) lines.push(line);
    }
    return `${lines.join("\n")}\n`;
  }

  #of(name: MetricName, labels: Labels): Series {
    const text = Object.entries(labels)
      .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
      .join(",");
    const byLabels = this.#series[name];
    const series = byLabels.get(text) ?? newSeries(name);
    byLabels.set(text, series);
    return series;
  }
}

function boundsOf(name: MetricName): readonly number[] {
  const metric: Described = described[name];
  return metric.bounds ?? [];
}

function newSeries(name: MetricName): Series {
  return { buckets: new Array<number>(boundsOf(name).length + 1).fill(0), count: 0, sum: 0 };
}

function linesOf(name: string, labels: string, series: Series, bounds: readonly number[]): string[] {
  const braces = labels === "" ? "" : `{${labels}}`;
  if (bounds.length === 0) return [`${name}${braces} ${series.count}`];
  let below = 0;
  const before = labels === "" ? "" : `${labels},`;
  const lines = [...bounds, "+Inf"].map((bound, index) => {
    below += series.buckets[index] ?? 0;
    return `${name}_bucket{${before}le="${bound}"} ${below}`;
  });
  return [...lines, `${name}_sum${braces} ${series.sum}`, `${name}_count${braces} ${series.count}`];
}
