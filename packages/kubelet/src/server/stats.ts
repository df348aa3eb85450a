import { statfsSync } from "node:fs";
import { cpus, freemem, totalmem, uptime } from "node:os";
import type { Pod } from "@dray/api/core/v1";
import { type Clock, timeText } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import { podLogDirectory } from "../containers/container-config.ts";
import { metricText, type Sample } from "../metrics/prometheus.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { diskUsage } from "../volumes/disk-usage.ts";
import { emptyDir as emptyDirPlugin } from "../volumes/kinds/empty-dir.ts";
import type { Volumes } from "../volumes/volumes.ts";

export interface StatsOptions {
  readonly clock: Clock;
  readonly runtime: RuntimeService;
  readonly nodeName: string;
  readonly paths: NodePaths;
  readonly volumes: Volumes;
  pods(): readonly Pod[];
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
  readonly volume?: readonly (Disk & { readonly name: string })[];
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

/** A measurement of the node or of a container. */
interface Measurement {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** CPU time since the start in nanoseconds. */
  readonly cpuNanoseconds: number;
  /** Working set. */
  readonly memoryBytes: number;
}

interface MeasuredContainer extends Measurement {
  readonly id: string;
  readonly name: string;
  readonly startedAt: number;
}

interface MeasuredPod {
  readonly pod: Pod;
  /** At least one. */
  readonly containers: readonly MeasuredContainer[];
}

interface Measured {
  readonly node: Measurement;
  readonly pods: readonly MeasuredPod[];
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
    const measured = await this.#measure();
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

  async #measure(): Promise<Measured> {
    const { runtime, clock } = this.#options;
    const [containers, stats] = await Promise.all([runtime.listContainers(), runtime.listContainerStats()]);
    const sandboxes = new Map((await runtime.listPodSandboxes()).map(({ id, config }) => [id, config.uid]));
    const byId = new Map(stats.map((one) => [one.containerId, one]));
    const pods = this.#options.pods().flatMap((pod) => {
      const own = containers.flatMap(
        ({ id, sandboxId, config, startedAt, createdAt }): MeasuredContainer[] => {
          const found = byId.get(id);
          if (sandboxes.get(sandboxId) !== pod.metadata.uid || found === undefined) return [];
          const { at, cpuNanoseconds, memoryWorkingSetBytes: memoryBytes } = found;
          return [
            { id, name: config.name, startedAt: startedAt ?? createdAt, at, cpuNanoseconds, memoryBytes },
          ];
        },
      );
      return own.length === 0 ? [] : [{ pod, containers: own }];
    });
    const busy = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
    const node = {
      at: clock.now(),
      cpuNanoseconds: busy * 1e6,
      memoryBytes: totalmem() - freemem(),
    };
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
    let total = Number(await diskUsage(podLogDirectory(paths, pod)));
    const volume: (Disk & { name: string })[] = [];
    for (const { name, emptyDir } of pod.spec.volumes ?? []) {
      if (emptyDir === undefined) continue;
      const usedBytes = Number(await diskUsage(volumes.folder(pod, emptyDirPlugin, name)));
      if (!emptyDir.medium) total += usedBytes;
      volume.push({ ...disk, name, usedBytes });
    }
    return { volume, "ephemeral-storage": { ...disk, usedBytes: total } };
  }

  /** Response of `/metrics/resource`. Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go. */
  async resourceMetrics(): Promise<string> {
    const { node, pods } = await this.#measure();
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
