import {
  type Counter,
  exponentialBuckets,
  type Histogram,
  MetricsRegistry,
  WorkQueueMetrics,
} from "@dray/client";

type Labels = Readonly<Record<string, string>>;

/** A value of a gauge. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

interface Described {
  readonly help: string;
  readonly labels: readonly string[];
  /** Counted at the moment it is read. */
  readonly type?: "gauge";
  /** Upper bounds of a histogram; a counter has none. */
  readonly buckets?: readonly number[];
}

/**
 * Upstream: pkg/controller/devicetainteviction/metrics, resourcepoolstatusrequest/metrics;
 * dynamic-resource-allocation/resourceclaim/metrics.
 */
const described = {
  device_taint_eviction_controller_pod_deletion_duration_seconds: {
    help: "[ALPHA] Latency, in seconds, between the time when a device taint effect has been activated and a Pod's deletion via DeviceTaintEvictionController.",
    labels: [],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
  },
  device_taint_eviction_controller_pod_deletions_total: {
    help: "[ALPHA] Total number of Pods deleted by DeviceTaintEvictionController since its start.",
    labels: [],
  },
  dynamic_resource_allocation_resource_claims: {
    help: "[ALPHA] Number of ResourceClaims, categorized by allocation status, admin access, and source. Source can be 'resource_claim_template' (created from a template), 'extended_resource' (extended resources), or empty (manually created by a user).",
    labels: ["allocated", "admin_access", "source"],
    type: "gauge",
  },
  dynamic_resource_allocation_resourceclaim_creates_total: {
    help: "[ALPHA] Number of ResourceClaims creation requests, categorized by creation status, admin access, and owning API group and kind (either Pod or scheduling.k8s.io/PodGroup)",
    labels: ["status", "admin_access", "owner_api_group", "owner_api_kind"],
  },
  resourcepoolstatusrequest_controller_request_processing_duration_seconds: {
    help: "[ALPHA] Time taken to process a ResourcePoolStatusRequest",
    labels: ["driver_name"],
    buckets: exponentialBuckets(0.001, 2, 15),
  },
  resourcepoolstatusrequest_controller_request_processing_errors_total: {
    help: "[ALPHA] Total number of errors encountered while processing ResourcePoolStatusRequests",
    labels: ["driver_name"],
  },
  resourcepoolstatusrequest_controller_requests_processed_total: {
    help: "[ALPHA] Total number of ResourcePoolStatusRequests processed",
    labels: ["driver_name"],
  },
} as const satisfies Readonly<Record<string, Described>>;

export type MetricName = keyof typeof described;

const describedBy = (name: MetricName): Described => described[name];

/** Values of the labels of a metric, in their order. */
const valuesOf = (name: MetricName, labels: Labels): string[] =>
  describedBy(name).labels.map((label) => labels[label] ?? "");

/** Metrics under kube-controller-manager's names. */
export class ControllerMetrics {
  readonly #registry = new MetricsRegistry();
  readonly #counters = new Map<MetricName, Counter>();
  readonly #histograms = new Map<MetricName, Histogram>();
  readonly #gauges = new Map<MetricName, () => readonly Sample[]>();
  /** Metrics of the work queues of all controllers. */
  readonly workQueues = new WorkQueueMetrics(this.#registry);

  constructor() {
    const registry = this.#registry;
    for (const name of Object.keys(described) as MetricName[]) {
      const { help, labels, type, buckets } = describedBy(name);
      if (type === "gauge") registry.gauge(name, help, labels, () => this.#read(name));
      else if (buckets === undefined) this.#counters.set(name, registry.counter(name, help, labels));
      else this.#histograms.set(name, registry.histogram(name, help, buckets, labels));
    }
  }

  /** Reads a gauge with this function from now on. */
  gauge(name: MetricName, read: () => readonly Sample[]): void {
    this.#gauges.set(name, read);
  }

  /** Raises a counter by one. */
  count(name: MetricName, labels: Labels = {}): void {
    this.#counters.get(name)?.add(valuesOf(name, labels));
  }

  /** Adds a value to a histogram. */
  observe(name: MetricName, value: number, labels: Labels = {}): void {
    this.#histograms.get(name)?.observe(value, valuesOf(name, labels));
  }

  /** In the text format of Prometheus. */
  text(): string {
    return this.#registry.text();
  }

  #read(name: MetricName): (readonly [string[], number])[] {
    const samples = this.#gauges.get(name)?.() ?? [];
    return samples.map(({ labels, value }) => [valuesOf(name, labels), value] as const);
  }
}
