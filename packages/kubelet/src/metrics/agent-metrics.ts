import { X509Certificate } from "node:crypto";
import { type Clock, exponentialBuckets, MetricsRegistry, ProcessMetrics } from "@dray/client";

function expiryOf(certificate: string): number {
  return new X509Certificate(certificate).validToDate.getTime();
}

/** The kind of a round of a pod's worker. Upstream: pkg/kubelet/types/pod_update.go, SyncPodType. */
export type WorkType = "create" | "update" | "sync" | "kill";

/** Upper bounds in seconds. Upstream: metrics.DefBuckets. */
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Upstream: podStartupDurationBuckets. */
const startBuckets = [
  ...[0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800],
  ...[2700, 3600],
];
/** Upstream: pkg/volume/util/metrics.go, storageOperationMetric. */
const storageBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export interface AgentMetricsOptions {
  readonly clock: Clock;
  readonly nodeName: string;
  /** Kubernetes release whose behaviour the agent has. */
  readonly release: string;
  /** Certificates in PEM. */
  readonly servingCertificate: string;
  readonly clientCertificate: string | undefined;
}

/**
 * Metrics of the work of an agent, with upstream's names; durations in milliseconds.
 *
 * Upstream: pkg/kubelet/metrics/metrics.go; pkg/volume/util/metrics.go.
 */
export class AgentMetrics {
  readonly #registry = new MetricsRegistry();
  readonly #process: ProcessMetrics;
  readonly #workers = this.#registry.histogram(
    "kubelet_pod_worker_duration_seconds",
    "[ALPHA] Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync",
    defaultBuckets,
    ["operation_type"],
  );
  readonly #starts = this.#registry.histogram(
    "kubelet_pod_start_duration_seconds",
    "[ALPHA] Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run",
    startBuckets,
  );
  readonly #operations = this.#registry.counter(
    "kubelet_runtime_operations_total",
    "[ALPHA] Cumulative number of runtime operations by operation type.",
    ["operation_type"],
  );
  readonly #operationErrors = this.#registry.counter(
    "kubelet_runtime_operations_errors_total",
    "[ALPHA] Cumulative number of runtime operation errors by operation type.",
    ["operation_type"],
  );
  readonly #operationDurations = this.#registry.histogram(
    "kubelet_runtime_operations_duration_seconds",
    "[ALPHA] Duration in seconds of runtime operations. Broken down by operation type.",
    exponentialBuckets(0.005, 2.5, 14),
    ["operation_type"],
  );
  readonly #startedPods = this.#registry.counter(
    "kubelet_started_pods_total",
    "[ALPHA] Cumulative number of pods started",
  );
  readonly #startedPodErrors = this.#registry.counter(
    "kubelet_started_pods_errors_total",
    "[ALPHA] Cumulative number of errors when starting pods",
  );
  readonly #evictions = this.#registry.counter(
    "kubelet_evictions",
    "[ALPHA] Cumulative number of pod evictions by eviction signal",
    ["eviction_signal"],
  );
  readonly #storage = this.#registry.histogram(
    "storage_operation_duration_seconds",
    "[ALPHA] Storage operation duration",
    storageBuckets,
    ["migrated", "operation_name", "status", "volume_plugin"],
  );

  /** End of the validity of the serving certificate in milliseconds since the epoch. */
  #servingUntil: number;

  constructor(options: AgentMetricsOptions) {
    const { clock, nodeName, release, servingCertificate, clientCertificate } = options;
    this.#process = new ProcessMetrics({ clock, release });
    this.#servingUntil = expiryOf(servingCertificate);
    const secondsUntil = (end: number): number => Math.trunc((end - clock.now()) / 1000);
    this.#registry.gauge(
      "kubelet_certificate_manager_server_ttl_seconds",
      "[ALPHA] Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired).",
      [],
      () => [[[], secondsUntil(this.#servingUntil)]],
    );
    if (clientCertificate !== undefined) {
      const end = expiryOf(clientCertificate);
      this.#registry.gauge(
        "kubelet_certificate_manager_client_ttl_seconds",
        "[ALPHA] Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired).",
        [],
        () => [[[], secondsUntil(end)]],
      );
    }
    this.#registry.gauge(
      "kubelet_node_name",
      "[ALPHA] The node's name. The count is always 1.",
      ["node"],
      () => [[[nodeName], 1]],
    );
  }

  /** The node serves with another certificate, in PEM, from now on. */
  servesWith(certificate: string): void {
    this.#servingUntil = expiryOf(certificate);
  }

  podWorked(type: WorkType, milliseconds: number): void {
    this.#workers.observe(milliseconds / 1000, [type]);
  }

  /** Counts a pod that runs for the first time, by the time since the agent first saw it. */
  podStarted(milliseconds: number): void {
    this.#starts.observe(milliseconds / 1000);
  }

  /** `operation`: upstream's name of an operation of the runtime. */
  runtimeOperated(operation: string, failed: boolean, milliseconds: number): void {
    this.#operations.add([operation]);
    if (failed) this.#operationErrors.add([operation]);
    this.#operationDurations.observe(milliseconds / 1000, [operation]);
    if (operation === "run_podsandbox") (failed ? this.#startedPodErrors : this.#startedPods).add();
  }

  evicted(signal: string): void {
    this.#evictions.add([signal]);
  }

  /** `plugin`: name of a plugin for volumes, such as `empty-dir`. */
  volumeMounted(plugin: string, failed: boolean, milliseconds: number): void {
    const status = failed ? "fail-unknown" : "success";
    this.#storage.observe(milliseconds / 1000, ["false", "volume_mount", status, `kubernetes.io/${plugin}`]);
  }

  /** In the text format of Prometheus. */
  text(): string {
    return `${this.#registry.text()}${this.#process.text()}`;
  }
}
