/** Path and component that a ServiceMonitor of kube-prometheus scrapes. */
export type Scraped =
  | "apiserver /metrics"
  | "apiserver /metrics/slis"
  | "kube-scheduler /metrics"
  | "kube-scheduler /metrics/slis"
  | "kube-controller-manager /metrics"
  | "kube-controller-manager /metrics/slis"
  | "kubelet /metrics"
  | "kubelet /metrics/cadvisor"
  | "kubelet /metrics/probes"
  | "kubelet /metrics/slis";

/** A metric that dashboards, rules or alerts read. */
export interface ReadMetric {
  readonly from: Scraped;
  readonly name: string;
  /** Labels that queries select or group by. */
  readonly labels: readonly string[];
  /** Nothing may have counted it on this machine, or yet. */
  readonly maybe?: true;
}

const components = ["apiserver", "kube-scheduler", "kube-controller-manager", "kubelet"] as const;

const each = (path: "/metrics" | "/metrics/slis", name: string, labels: readonly string[]): ReadMetric[] =>
  components.map((component) => ({ from: `${component} ${path}`, name, labels }));

const of = (from: Scraped, rows: readonly (readonly [string, ...string[]])[], maybe?: true): ReadMetric[] =>
  rows.map(([name, ...labels]) => ({ from, name, labels, ...(maybe && { maybe }) }));

const pod = ["namespace", "pod"];
const container = [...pod, "container", "image"];

/**
 * Metrics and labels that dashboards, rules and alerts of kubernetes-mixin (version of August 2026) read from
 * components of Kubernetes. Those that Dray does not have are in docs/metrics.md.
 */
export const readMetrics: readonly ReadMetric[] = [
  ...each("/metrics", "process_cpu_seconds_total", []),
  ...each("/metrics", "process_resident_memory_bytes", []),
  ...each("/metrics", "process_start_time_seconds", []),
  ...each("/metrics", "kubernetes_build_info", ["git_version"]),
  ...each("/metrics/slis", "kubernetes_healthcheck", ["name", "type"]),
  ...each("/metrics/slis", "kubernetes_healthchecks_total", ["name", "type", "status"]),
  ...of("apiserver /metrics", [
    ["apiserver_request_total", "verb", "code", "resource"],
    ["apiserver_request_sli_duration_seconds_bucket", "verb", "scope", "resource", "le"],
    ["apiserver_request_sli_duration_seconds_count", "verb", "scope"],
    ["aggregator_unavailable_apiservice", "name"],
    ["apiserver_client_certificate_expiration_seconds_bucket", "le"],
    ["apiserver_client_certificate_expiration_seconds_count"],
    ["workqueue_depth", "name"],
  ]),
  ...of(
    "apiserver /metrics",
    [
      ["apiserver_request_terminations_total", "verb", "code", "component"],
      ["workqueue_adds_total", "name"],
      ["workqueue_queue_duration_seconds_bucket", "name", "le"],
    ],
    true,
  ),
  ...of("kube-scheduler /metrics", [
    ["rest_client_requests_total", "code"],
    ["rest_client_request_duration_seconds_bucket", "verb", "le"],
    ["scheduler_scheduling_attempt_duration_seconds_bucket", "le"],
    ["scheduler_scheduling_attempt_duration_seconds_count"],
    ["scheduler_scheduling_algorithm_duration_seconds_bucket", "le"],
    ["scheduler_scheduling_algorithm_duration_seconds_count"],
    ["scheduler_pod_scheduling_sli_duration_seconds_bucket", "le"],
    ["scheduler_pod_scheduling_sli_duration_seconds_count"],
  ]),
  ...of("kube-controller-manager /metrics", [
    ["rest_client_requests_total", "code"],
    ["rest_client_request_duration_seconds_bucket", "verb", "le"],
    ["workqueue_adds_total", "name"],
    ["workqueue_depth", "name"],
    ["workqueue_queue_duration_seconds_bucket", "name", "le"],
  ]),
  ...of("kubelet /metrics", [
    ["kubelet_node_name", "node"],
    ["kubelet_running_pods"],
    ["kubelet_running_containers", "container_state"],
    ["kubelet_runtime_operations_total", "operation_type"],
    ["kubelet_runtime_operations_duration_seconds_bucket", "operation_type", "le"],
    ["kubelet_pod_start_duration_seconds_bucket", "le"],
    ["kubelet_pod_start_duration_seconds_count"],
    ["kubelet_pod_worker_duration_seconds_bucket", "operation_type", "le"],
    ["kubelet_pod_worker_duration_seconds_count", "operation_type"],
    ["volume_manager_total_volumes", "state", "plugin_name"],
    ["storage_operation_duration_seconds_bucket", "operation_name", "volume_plugin", "le"],
    ["storage_operation_duration_seconds_count", "operation_name", "volume_plugin"],
    ["kubelet_volume_stats_available_bytes", "namespace", "persistentvolumeclaim"],
    ["kubelet_volume_stats_capacity_bytes", "namespace", "persistentvolumeclaim"],
    ["kubelet_volume_stats_inodes", "namespace", "persistentvolumeclaim"],
    ["kubelet_volume_stats_inodes_free", "namespace", "persistentvolumeclaim"],
    ["kubelet_volume_stats_inodes_used", "namespace", "persistentvolumeclaim"],
    ["kubelet_volume_stats_used_bytes", "namespace", "persistentvolumeclaim"],
    ["kubelet_certificate_manager_client_ttl_seconds"],
    ["kubelet_certificate_manager_server_ttl_seconds"],
    ["rest_client_requests_total", "code"],
    ["rest_client_request_duration_seconds_bucket", "verb", "le"],
  ]),
  ...of(
    "kubelet /metrics",
    [
      ["kubelet_runtime_operations_errors_total", "operation_type"],
      ["kubelet_evictions", "eviction_signal"],
    ],
    true,
  ),
  ...of("kubelet /metrics/cadvisor", [["machine_cpu_cores"], ["machine_memory_bytes"]]),
  // Counted by cgroups and networks of pods, if they exist.
  ...of(
    "kubelet /metrics/cadvisor",
    [
      ["container_cpu_usage_seconds_total", ...container],
      ["container_memory_working_set_bytes", ...container],
      ["container_memory_usage_bytes", ...container],
      ["container_memory_rss", ...container],
      ["container_memory_cache", ...container],
      ["container_memory_swap", ...container],
      ["container_cpu_cfs_periods_total", ...container],
      ["container_cpu_cfs_throttled_periods_total", ...container],
      ["container_fs_reads_total", ...container, "device"],
      ["container_fs_reads_bytes_total", ...container, "device"],
      ["container_fs_writes_total", ...container, "device"],
      ["container_fs_writes_bytes_total", ...container, "device"],
      ["container_network_receive_bytes_total", ...pod, "interface"],
      ["container_network_receive_packets_total", ...pod, "interface"],
      ["container_network_receive_packets_dropped_total", ...pod, "interface"],
      ["container_network_transmit_bytes_total", ...pod, "interface"],
      ["container_network_transmit_packets_total", ...pod, "interface"],
      ["container_network_transmit_packets_dropped_total", ...pod, "interface"],
    ],
    true,
  ),
  ...of("kubelet /metrics/probes", [
    ["prober_probe_total", "probe_type", "result", "container", "pod", "namespace"],
  ]),
];
