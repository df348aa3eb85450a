import { cpus, totalmem } from "node:os";
import type { Node, Pod } from "@dray/api/core/v1";
import { podQosClass } from "@dray/api/pod";
import { metricText, type Sample } from "../metrics/prometheus.ts";
import { containerResources } from "../resources/resource-config.ts";
import type { ResourceConfig } from "../runtime/config.ts";
import { diskNames, type InterfaceUse, interfacesOf } from "./machine-figures.ts";
import {
  type Measured,
  type MeasuredContainer,
  type MeasuredPod,
  type Measurement,
  type MeasureOptions,
  measure,
} from "./measure.ts";

export interface CadvisorOptions extends MeasureOptions {
  node(): Node;
}

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  readonly at: number;
}

/** A cgroup in the order of upstream's labels: the machine, a pod, or a container. */
interface Row extends Series {
  readonly use: Measurement;
}

interface ContainerRow extends Row {
  readonly use: MeasuredContainer;
  /** Bounds by its requests and limits; undefined if the pod has it no more. */
  readonly bounds: ResourceConfig | undefined;
}

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly samples: readonly Sample[];
}

/**
 * `/metrics/cadvisor`: what containers, pods and the machine use, under the names and labels of cAdvisor.
 * Figures that the runtime does not count are absent.
 *
 * Upstream: google/cadvisor, metrics/prometheus.go; pkg/kubelet/server/server.go,
 * containerPrometheusLabelsFunc.
 */
export async function cadvisorMetrics(options: CadvisorOptions): Promise<string> {
  const measured = await measure(options);
  const node = options.node();
  const containers = containersOf(measured, node);
  const metrics = [
    ...machineMetrics(node),
    ...usageMetrics(measured, containers),
    ...containerMetrics(containers),
    ...diskMetrics(containers),
    ...networkMetrics(measured, options),
  ];
  return metrics.map(({ name, help, type, samples }) => metricText(name, help, type, samples)).join("");
}

function machineMetrics({ status }: Node): Metric[] {
  const { bootID = "", machineID = "", systemUUID = "" } = status?.nodeInfo ?? {};
  const labels = { boot_id: bootID, machine_id: machineID, system_uuid: systemUUID };
  const gauge = (name: string, help: string, value: number): Metric => ({
    ...{ name, help, type: "gauge", samples: [{ labels, value }] },
  });
  return [
    gauge("machine_cpu_cores", "Number of logical CPU cores.", cpus().length),
    gauge("machine_memory_bytes", "Amount of memory installed on the machine.", totalmem()),
    {
      ...{ name: "container_scrape_error", type: "gauge", samples: [{ value: 0 }] },
      help: "1 if there was an error while getting container metrics, 0 otherwise",
    },
  ];
}

/**
 * Labels of the cgroup of a pod or container. `id` is the path that the kubelet gives it with the cgroup
 * driver cgroupfs, by which queries select, whatever the runtime calls it.
 */
function labelsOf(pod: Pod, container?: Pick<MeasuredContainer, "id" | "name" | "image">): Labels {
  const { namespace, name, uid } = pod.metadata;
  const qos = podQosClass(pod);
  const parent = `/kubepods${qos === "Guaranteed" ? "" : `/${qos.toLowerCase()}`}/pod${uid}`;
  const { id, name: own = "", image = "" } = container ?? {};
  return {
    container: own,
    id: id === undefined ? parent : `${parent}/${id}`,
    image,
    name: id ?? "",
    namespace,
    pod: name,
  };
}

const machineLabels: Labels = { container: "", id: "/", image: "", name: "", namespace: "", pod: "" };

function containersOf({ pods }: Measured, node: Node): ContainerRow[] {
  return pods.flatMap(({ pod, containers }) => {
    const { spec } = pod;
    const all = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
    return containers.map((use) => {
      const container = all.find(({ name }) => name === use.name);
      const bounds = container && containerResources(pod, container, node, { useClaims: false });
      return { use, at: use.at, labels: labelsOf(pod, use), bounds };
    });
  });
}

function podRow({ pod, containers }: MeasuredPod): Row {
  const sum = (value: (use: Measurement) => number): number =>
    containers.reduce((total, use) => total + value(use), 0);
  const at = Math.max(...containers.map((use) => use.at));
  const use = {
    at,
    cpuNanoseconds: sum(({ cpuNanoseconds }) => cpuNanoseconds),
    memoryBytes: sum(({ memoryBytes }) => memoryBytes),
  };
  return { use, at, labels: labelsOf(pod) };
}

/** CPU time and memory, of every cgroup. */
function usageMetrics(measured: Measured, containers: readonly Row[]): Metric[] {
  const rows: Row[] = [
    { use: measured.node, at: measured.node.at, labels: machineLabels },
    ...measured.pods.map(podRow),
    ...containers,
  ];
  return [
    {
      name: "container_cpu_usage_seconds_total",
      help: "Cumulative cpu time consumed in seconds.",
      type: "counter",
      samples: rows.map(({ labels, at, use }) => ({
        ...{ labels: { ...labels, cpu: "total" }, at, value: use.cpuNanoseconds / 1e9 },
      })),
    },
    {
      name: "container_memory_working_set_bytes",
      help: "Current working set in bytes.",
      type: "gauge",
      samples: rows.map(({ labels, at, use }) => ({ labels, at, value: use.memoryBytes })),
    },
  ];
}

type ReadContainer = (row: ContainerRow) => number | undefined;

/** Metrics of containers: name, help, type, value. */
const ofContainers: readonly (readonly [string, string, Metric["type"], ReadContainer])[] = [
  [
    "container_memory_usage_bytes",
    "Current memory usage in bytes, including all memory regardless of when it was accessed",
    "gauge",
    ({ use }) => use.details.memory?.usage,
  ],
  ["container_memory_rss", "Size of RSS in bytes.", "gauge", ({ use }) => use.details.memory?.rss],
  [
    "container_memory_cache",
    "Number of bytes of page cache memory.",
    "gauge",
    ({ use }) => use.details.memory?.cache,
  ],
  ["container_memory_swap", "Container swap usage in bytes.", "gauge", ({ use }) => use.details.memory?.swap],
  [
    "container_cpu_cfs_periods_total",
    "Number of elapsed enforcement period intervals.",
    "counter",
    (row) => (hasQuota(row) ? row.use.details.throttling?.periods : undefined),
  ],
  [
    "container_cpu_cfs_throttled_periods_total",
    "Number of throttled period intervals.",
    "counter",
    (row) => (hasQuota(row) ? row.use.details.throttling?.throttledPeriods : undefined),
  ],
  [
    "container_cpu_cfs_throttled_seconds_total",
    "Total time duration the container has been throttled.",
    "counter",
    (row) => {
      const nanoseconds = row.use.details.throttling?.throttledNanoseconds;
      return nanoseconds === undefined || !hasQuota(row) ? undefined : nanoseconds / 1e9;
    },
  ],
  [
    "container_last_seen",
    "Last time a container was seen by the exporter",
    "gauge",
    ({ at }) => Math.floor(at / 1000),
  ],
  [
    "container_start_time_seconds",
    "Start time of the container since unix epoch in seconds.",
    "gauge",
    ({ use }) => use.startedAt / 1000,
  ],
  ["container_spec_cpu_period", "CPU period of the container.", "gauge", ({ bounds }) => bounds?.cpuPeriod],
  ["container_spec_cpu_quota", "CPU quota of the container.", "gauge", ({ bounds }) => bounds?.cpuQuota],
  ["container_spec_cpu_shares", "CPU share of the container.", "gauge", ({ bounds }) => bounds?.cpuShares],
  [
    "container_spec_memory_limit_bytes",
    "Memory limit for the container.",
    "gauge",
    ({ bounds }) => bounds && (bounds.memoryLimitBytes ?? 0),
  ],
];

/** As cAdvisor, which shows no throttling of containers without a quota. */
const hasQuota = ({ bounds }: ContainerRow): boolean => bounds?.cpuQuota !== undefined;

function containerMetrics(rows: readonly ContainerRow[]): Metric[] {
  return ofContainers.map(([name, help, type, read]) => ({
    ...{ name, help, type },
    samples: rows.flatMap((row) => {
      const value = read(row);
      return value === undefined ? [] : [{ labels: row.labels, at: row.at, value }];
    }),
  }));
}

function diskMetrics(containers: readonly ContainerRow[]): Metric[] {
  const names = diskNames();
  const rows = containers.flatMap(({ labels, at, use }) =>
    (use.details.disks ?? []).map((disk) => ({
      ...{ at, disk, labels: { ...labels, device: names.get(disk.device) ?? disk.device } },
    })),
  );
  type DiskRow = (typeof rows)[number];
  const metric = (name: string, help: string, read: (row: DiskRow) => number): Metric => ({
    ...{ name: `container_fs_${name}`, help, type: "counter" },
    samples: rows.map((row) => ({ labels: row.labels, at: row.at, value: read(row) })),
  });
  return [
    metric("reads_bytes_total", "Cumulative count of bytes read", ({ disk }) => disk.readBytes),
    metric("reads_total", "Cumulative count of reads completed", ({ disk }) => disk.reads),
    metric("writes_bytes_total", "Cumulative count of bytes written", ({ disk }) => disk.writtenBytes),
    metric("writes_total", "Cumulative count of writes completed", ({ disk }) => disk.writes),
  ];
}

const ofInterfaces: readonly (readonly [string, string, keyof Omit<InterfaceUse, "name">])[] = [
  ["receive_bytes_total", "Cumulative count of bytes received", "receivedBytes"],
  ["receive_errors_total", "Cumulative count of errors encountered while receiving", "receiveErrors"],
  ["receive_packets_dropped_total", "Cumulative count of packets dropped while receiving", "receivedDropped"],
  ["receive_packets_total", "Cumulative count of packets received", "receivedPackets"],
  ["transmit_bytes_total", "Cumulative count of bytes transmitted", "sentBytes"],
  ["transmit_errors_total", "Cumulative count of errors encountered while transmitting", "sendErrors"],
  ["transmit_packets_dropped_total", "Cumulative count of packets dropped while transmitting", "sentDropped"],
  ["transmit_packets_total", "Cumulative count of packets transmitted", "sentPackets"],
];

/** Networks of the machine and of pods that have their own. */
function networkMetrics({ node, pods }: Measured, { runtime }: CadvisorOptions): Metric[] {
  const ofPods = pods.flatMap(({ pod, sandbox, containers }) => {
    const { namespaces = [], pid = 0 } = runtime.linuxSandbox?.(sandbox) ?? {};
    if (pid === 0 || !namespaces.some(({ type }) => type === "network")) return [];
    const labels = labelsOf(pod, { id: sandbox, name: "", image: "" });
    return interfacesOf(pid).map((use) => ({ labels, use, at: containers[0]?.at ?? node.at }));
  });
  const ofMachine = interfacesOf("self").map((use) => ({ labels: machineLabels, use, at: node.at }));
  return ofInterfaces.map(
    ([name, help, field]): Metric => ({
      ...{ name: `container_network_${name}`, help, type: "counter" },
      samples: [...ofMachine, ...ofPods].map(({ labels, use, at }) => ({
        ...{ labels: { ...labels, interface: use.name }, at, value: use[field] },
      })),
    }),
  );
}
