type Labels = Readonly<Record<string, string>>;

/** A value of a gauge. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

interface Described {
  readonly help: string;
  /** Counted at the moment it is read. */
  readonly type?: "gauge";
  /** Upper bounds of a histogram; a counter has none. */
  readonly bounds?: readonly number[];
}

/**
 * Upstream: pkg/controller/devicetainteviction/metrics, resourcepoolstatusrequest/metrics;
 * dynamic-resource-allocation/resourceclaim/metrics.
 */
const described = {
  device_taint_eviction_controller_pod_deletion_duration_seconds: {
    help: "[ALPHA] Latency, in seconds, between the time when a device taint effect has been activated and a Pod's deletion via DeviceTaintEvictionController.",
    bounds: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
  },
  device_taint_eviction_controller_pod_deletions_total: {
    help: "[ALPHA] Total number of Pods deleted by DeviceTaintEvictionController since its start.",
  },
  dynamic_resource_allocation_resource_claims: {
    help: "[ALPHA] Number of ResourceClaims, categorized by allocation status, admin access, and source. Source can be 'resource_claim_template' (created from a template), 'extended_resource' (extended resources), or empty (manually created by a user).",
    type: "gauge",
  },
  dynamic_resource_allocation_resourceclaim_creates_total: {
    help: "[ALPHA] Number of ResourceClaims creation requests, categorized by creation status, admin access, and owning API group and kind (either Pod or scheduling.k8s.io/PodGroup)",
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

/** Metrics under kube-controller-manager's names. */
export class ControllerMetrics {
  /** By metric, then by the text of the labels. */
  readonly #series = Object.fromEntries(names.map((name) => [name, new Map()])) as Record<
    MetricName,
    Map<string, Series>
  >;

  readonly #gauges = new Map<MetricName, () => readonly Sample[]>();

  /** Reads a gauge with this function from now on. */
  gauge(name: MetricName, read: () => readonly Sample[]): void {
    this.#gauges.set(name, read);
  }

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
      const { help, type }: Described = described[name];
      const bounds = boundsOf(name);
      const shown = type ?? (bounds.length > 0 ? "histogram" : "counter");
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${shown}`);
      for (const { labels, value } of this.#gauges.get(name)?.() ?? [])
        lines.push(`${name}{${labelText(labels)}} ${value}`);
      for (const [labels, series] of this.#series[name])
        for (const line of linesOf(name, labels, series, bounds)) lines.push(line);
    }
    return `${lines.join("\n")}\n`;
  }

  #of(name: MetricName, labels: Labels): Series {
    const text = labelText(labels);
    const byLabels = this.#series[name];
    const series = byLabels.get(text) ?? newSeries(name);
    byLabels.set(text, series);
    return series;
  }
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(",");
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
