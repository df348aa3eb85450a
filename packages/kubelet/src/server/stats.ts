import { statfsSync } from "node:fs";
import { freemem, uptime } from "node:os";
import type { Pod } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import { podLogDirectory } from "../containers/container-config.ts";
import { metricText, type Sample } from "../metrics/prometheus.ts";
import { emptyDir as emptyDirPlugin } from "../volumes/kinds/empty-dir.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { type MeasuredContainer, type Measurement, type MeasureOptions, measure } from "./measure.ts";
import { type FileSystemUse, fileSystemUse } from "./volume-metrics.ts";

export interface StatsOptions extends MeasureOptions {
  readonly nodeName: string;
  readonly paths: NodePaths;
  readonly volumes: Volumes;
}

/** CPU time of the summary API (stats/v1alpha1). */
interface Cpu {
  readonly time: string;
  /** Current rate; absent before there are two samples. */
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds: number;
}

interface Memory {
  readonly time: string;
  readonly workingSetBytes: number;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
}

interface Disk {
  readonly time: string;
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  readonly inodesUsed: number;
}

interface VolumeUse extends Disk {
  readonly name: string;
  /** The claim of the volume. */
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
}

interface ContainerUse {
  readonly name: string;
  readonly startTime: string;
  readonly cpu: Cpu;
  readonly memory: Memory;
}

interface PodUse {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTime: string;
  readonly containers: readonly ContainerUse[];
  readonly cpu: Cpu;
  readonly memory: Memory;
  readonly volume?: readonly VolumeUse[];
  readonly "ephemeral-storage"?: Disk;
}

/** Response of `/stats/summary`. */
export interface Summary {
  readonly node: {
    readonly nodeName: string;
    readonly startTime: string;
    readonly cpu: Cpu;
    readonly memory: Memory;
    readonly fs?: Disk;
  };
  readonly pods: readonly PodUse[];
}

/** Minimum interval of two samples for a rate, in milliseconds. */
const minRateInterval = 1000;

interface Usage {
  readonly at: number;
  readonly total: number;
  readonly rate: number | undefined;
}

/**
 * Usage of the node and its pods. The node's is that of the machine; containers that the runtime does not
 * report are omitted.
 *
 * Upstream: pkg/kubelet/stats/cri_stats_provider.go, pkg/kubelet/server/stats/summary.go.
 */
export class NodeStatistics {
  readonly #options: StatsOptions;
  /** Last samples by container ID, and "" for the node, from which rates are computed. */
  #usages: ReadonlyMap<string, Usage> = new Map();

  constructor(options: StatsOptions) {
    this.#options = options;
  }

  /** With `onlyCpuAndMemory` no disk is read. */
  async summary(onlyCpuAndMemory: boolean): Promise<Summary> {
    const measured = await measure(this.#options);
    const { at: now, memoryBytes: used } = measured.node;
    const usages = new Map<string, Usage>();
    const cpu = (key: string, at: number, total: number): Cpu => {
      const rate = this.#rate(key, at, total);
      usages.set(key, rate);
      const usageNanoCores = rate.rate === undefined ? {} : { usageNanoCores: Math.round(rate.rate) };
      return { time: timeText(at), ...usageNanoCores, usageCoreNanoSeconds: total };
    };
    const pods: PodUse[] = [];
    for (const { pod, containers } of measured.pods) {
      const uses = containers.map(
        ({ id, name, startedAt, at, cpuNanoseconds, memoryBytes }): ContainerUse => ({
          name,
          startTime: timeText(startedAt),
          cpu: cpu(id, at, cpuNanoseconds),
          memory: { time: timeText(at), workingSetBytes: memoryBytes },
        }),
      );
      pods.push({ ...ofPod(pod, uses, now), ...(onlyCpuAndMemory ? {} : await this.#disks(pod)) });
    }
    const node = {
      nodeName: this.#options.nodeName,
      startTime: timeText(now - uptime() * 1000),
      cpu: cpu("", now, measured.node.cpuNanoseconds),
      memory: {
        time: timeText(now),
        availableBytes: freemem(),
        usageBytes: used,
        workingSetBytes: used,
      },
      ...(onlyCpuAndMemory ? {} : { fs: this.#disk() }),
    };
    this.#usages = usages;
    return { node, pods };
  }

  #rate(key: string, at: number, total: number): Usage {
    const before = this.#usages.get(key);
    if (before === undefined || total < before.total) return { at, total, rate: undefined };
    const elapsed = at - before.at;
    if (elapsed < minRateInterval) return before;
    return { at, total, rate: ((total - before.total) / elapsed) * 1000 };
  }

  #disk(): Disk {
    const { paths, clock } = this.#options;
    const { bsize, blocks, bavail, bfree, files, ffree } = statfsSync(paths.root);
    return {
      time: timeText(clock.now()),
      availableBytes: bavail * bsize,
      capacityBytes: blocks * bsize,
      usedBytes: (blocks - bfree) * bsize,
      inodesFree: ffree,
      inodes: files,
      inodesUsed: files - ffree,
    };
  }

  async #disks(pod: Pod): Promise<Pick<PodUse, "volume" | "ephemeral-storage">> {
    const { volumes, paths } = this.#options;
    const disk = this.#disk();
    let total = Number((await volumes.usage.of(podLogDirectory(paths, pod)))?.bytes ?? 0n);
    const volume: VolumeUse[] = [];
    for (const { name, emptyDir } of pod.spec.volumes ?? []) {
      if (emptyDir === undefined) continue;
      const usage = await volumes.usage.of(volumes.folder(pod, emptyDirPlugin, name));
      // Not measured yet; upstream leaves it out too.
      if (usage === undefined) continue;
      const usedBytes = Number(usage.bytes);
      if (!emptyDir.medium) total += usedBytes;
      volume.push({ ...disk, name, usedBytes });
    }
    for (const { claim, volume: name, path } of volumes.claims(pod.metadata.uid)) {
      const use = await fileSystemUse(path);
      if (use === undefined) continue;
      const { namespace } = pod.metadata;
      volume.push({ ...diskOf(use, disk.time), name, pvcRef: { name: claim, namespace } });
    }
    return { volume, "ephemeral-storage": { ...disk, usedBytes: total } };
  }

  /** Response of `/metrics/resource`. Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go. */
  async resourceMetrics(): Promise<string> {
    const { node, pods } = await measure(this.#options);
    const ofContainers = (sample: (use: MeasuredContainer) => Pick<Sample, "value" | "at">): Sample[] =>
      pods.flatMap(({ pod, containers }) =>
        containers.map((use) => ({
          labels: {
            container: use.name,
            namespace: pod.metadata.namespace,
            pod: pod.metadata.name,
          },
          ...sample(use),
        })),
      );
    const ofPods = (value: (use: Measurement) => number): Sample[] =>
      pods.map(({ pod, containers }) => ({
        labels: { namespace: pod.metadata.namespace, pod: pod.metadata.name },
        value: containers.reduce((total, use) => total + value(use), 0),
        at: Math.max(...containers.map(({ at }) => at)),
      }));
    const seconds = ({ cpuNanoseconds }: Measurement): number => cpuNanoseconds / 1e9;
    const memory = ({ memoryBytes }: Measurement): number => memoryBytes;
    return [
      metricText(
        "container_cpu_usage_seconds_total",
        "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
        "counter",
        ofContainers((use) => ({ value: seconds(use), at: use.at })),
      ),
      metricText(
        "container_memory_working_set_bytes",
        "[STABLE] Current working set of the container in bytes",
        "gauge",
        ofContainers((use) => ({ value: memory(use), at: use.at })),
      ),
      metricText(
        "container_start_time_seconds",
        "[STABLE] Start time of the container since unix epoch in seconds",
        "gauge",
        ofContainers(({ startedAt }) => ({ value: startedAt / 1000 })),
      ),
      metricText(
        "node_cpu_usage_seconds_total",
        "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
        "counter",
        [{ value: seconds(node), at: node.at }],
      ),
      metricText(
        "node_memory_working_set_bytes",
        "[STABLE] Current working set of the node in bytes",
        "gauge",
        [{ value: memory(node), at: node.at }],
      ),
      metricText(
        "pod_cpu_usage_seconds_total",
        "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
        "counter",
        ofPods(seconds),
      ),
      metricText(
        "pod_memory_working_set_bytes",
        "[STABLE] Current working set of the pod in bytes",
        "gauge",
        ofPods(memory),
      ),
      metricText(
        "resource_scrape_error",
        "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
        "gauge",
        [{ value: 0 }],
      ),
    ].join("");
  }
}

function diskOf(use: FileSystemUse, time: string): Disk {
  const { available, capacity, used, inodes, inodesFree, inodesUsed } = use;
  return {
    ...{ time, availableBytes: available, capacityBytes: capacity, usedBytes: used },
    ...{ inodes, inodesFree, inodesUsed },
  };
}

/** Usage of a pod: the sum of its containers. */
function ofPod({ metadata, status }: Pod, containers: readonly ContainerUse[], now: number): PodUse {
  const { name, namespace, uid } = metadata;
  const sum = (value: (use: ContainerUse) => number): number =>
    containers.reduce((total, use) => total + value(use), 0);
  const times = containers.map(({ cpu }) => cpu.time).sort();
  const time = times.at(-1) ?? timeText(now);
  const hasRate = containers.every(({ cpu }) => cpu.usageNanoCores !== undefined);
  return {
    podRef: { name, namespace, uid },
    startTime: status?.startTime ?? metadata.creationTimestamp ?? timeText(now),
    containers,
    cpu: {
      time,
      ...(hasRate ? { usageNanoCores: sum(({ cpu }) => cpu.usageNanoCores ?? 0) } : {}),
      usageCoreNanoSeconds: sum(({ cpu }) => cpu.usageCoreNanoSeconds),
    },
    memory: { time, workingSetBytes: sum(({ memory }) => memory.workingSetBytes) },
  };
}
