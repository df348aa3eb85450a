import { statfsSync } from "node:fs";
import { cpus, freemem, totalmem, uptime } from "node:os";
import type { Pod } from "@dray/api/core/v1";
import { type Clock, timeText } from "@dray/client";
import type { NodePaths } from "../paths.ts";
import { podLogDirectory } from "../pods/container-config.ts";
import { diskUsage } from "../pods/disk-usage.ts";
import type { Volumes } from "../pods/volumes.ts";
import type { Container, ContainerStats, RuntimeService } from "../runtime/service.ts";
import { metricText, type Sample } from "./prometheus.ts";

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
  /** Of late; absent before there are two samples. */
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

/** What `/stats/summary` answers, of which `/metrics/resource` shows CPU and memory. */
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

/** Two samples closer than this say nothing of a rate. */
const minRateInterval = 1000;

interface Usage {
  readonly at: number;
  readonly total: number;
  readonly rate: number | undefined;
}

/**
 * What the node and its pods use. The node's are the machine's; those of containers come from the runtime, and containers
 * that it says nothing of are left out.
 *
 * Upstream: pkg/kubelet/stats/cri_stats_provider.go, pkg/kubelet/server/stats/summary.go.
 */
export class NodeStatistics {
  readonly #options: StatsOptions;
  /** By container id, and "" for the node: for rates. */
  #usages: ReadonlyMap<string, Usage> = new Map();

  constructor(options: StatsOptions) {
    this.#options = options;
  }

  /** With `onlyCpuAndMemory` no disk is looked at. */
  async summary(onlyCpuAndMemory: boolean): Promise<Summary> {
    const { runtime, nodeName, clock } = this.#options;
    const [containers, stats] = await Promise.all([runtime.listContainers(), runtime.listContainerStats()]);
    const sandboxes = new Map((await runtime.listPodSandboxes()).map(({ id, config }) => [id, config.uid]));
    const byId = new Map(stats.map((one) => [one.containerId, one]));
    const now = clock.now();
    const usages = new Map<string, Usage>();
    const cpu = (key: string, at: number, total: number): Cpu => {
      const rate = this.#rate(key, at, total);
      usages.set(key, rate);
      const usageNanoCores = rate.rate === undefined ? {} : { usageNanoCores: Math.round(rate.rate) };
      return { time: timeText(at), ...usageNanoCores, usageCoreNanoSeconds: total };
    };
    const pods: PodUse[] = [];
    for (const pod of this.#options.pods()) {
      const own = containers.flatMap((container): [Container, ContainerStats][] => {
        const found = byId.get(container.id);
        return sandboxes.get(container.sandboxId) === pod.metadata.uid && found ? [[container, found]] : [];
      });
      if (own.length === 0) continue;
      const uses = own.map(
        ([{ id, config, startedAt, createdAt }, found]): ContainerUse => ({
          name: config.name,
          startTime: timeText(startedAt ?? createdAt),
          cpu: cpu(id, found.at, found.cpuNanoseconds),
          memory: { time: timeText(found.at), workingSetBytes: found.memoryWorkingSetBytes },
        }),
      );
      pods.push({ ...ofPod(pod, uses, now), ...(onlyCpuAndMemory ? {} : await this.#disks(pod)) });
    }
    const busy = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
    const used = totalmem() - freemem();
    const node = {
      nodeName,
      startTime: timeText(now - uptime() * 1000),
      cpu: cpu("", now, busy * 1e6),
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
    let total = Number(await diskUsage(podLogDirectory(paths, pod)));
    const volume: (Disk & { name: string })[] = [];
    for (const { name, emptyDir } of pod.spec.volumes ?? []) {
      if (emptyDir === undefined) continue;
      const usedBytes = Number(await diskUsage(volumes.folder(pod, "empty-dir", name)));
      if (!emptyDir.medium) total += usedBytes;
      volume.push({ ...disk, name, usedBytes });
    }
    return { volume, "ephemeral-storage": { ...disk, usedBytes: total } };
  }

  /** What `/metrics/resource` answers. Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go. */
  async resourceMetrics(): Promise<string> {
    const { node, pods } = await this.summary(true);
    const ofContainers = (
      value: (use: ContainerUse) => number,
      at: (use: ContainerUse) => number | undefined,
    ) =>
      pods.flatMap(({ podRef, containers }) =>
        containers.map((use): Sample => {
          const time = at(use);
          const labels = { container: use.name, namespace: podRef.namespace, pod: podRef.name };
          return { labels, value: value(use), ...(time === undefined ? {} : { at: time }) };
        }),
      );
    const ofPods = (value: (use: PodUse) => number, at: (use: PodUse) => string) =>
      pods.map((use): Sample => {
        const { namespace, name } = use.podRef;
        return { labels: { namespace, pod: name }, value: value(use), at: Date.parse(at(use)) };
      });
    const seconds = ({ usageCoreNanoSeconds }: Cpu): number => usageCoreNanoSeconds / 1e9;
    const time = (text: string): number => Date.parse(text);
    const single = (value: number, at?: string): Sample[] => [
      { value, ...(at === undefined ? {} : { at: time(at) }) },
    ];
    return [
      metricText(
        "container_cpu_usage_seconds_total",
        "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
        "counter",
        ofContainers(
          (use) => seconds(use.cpu),
          (use) => time(use.cpu.time),
        ),
      ),
      metricText(
        "container_memory_working_set_bytes",
        "[STABLE] Current working set of the container in bytes",
        "gauge",
        ofContainers(
          (use) => use.memory.workingSetBytes,
          (use) => time(use.memory.time),
        ),
      ),
      metricText(
        "container_start_time_seconds",
        "[STABLE] Start time of the container since unix epoch in seconds",
        "gauge",
        ofContainers(
          (use) => time(use.startTime) / 1000,
          () => undefined,
        ),
      ),
      metricText(
        "node_cpu_usage_seconds_total",
        "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
        "counter",
        single(seconds(node.cpu), node.cpu.time),
      ),
      metricText(
        "node_memory_working_set_bytes",
        "[STABLE] Current working set of the node in bytes",
        "gauge",
        single(node.memory.workingSetBytes, node.memory.time),
      ),
      metricText(
        "pod_cpu_usage_seconds_total",
        "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
        "counter",
        ofPods(
          (use) => seconds(use.cpu),
          (use) => use.cpu.time,
        ),
      ),
      metricText(
        "pod_memory_working_set_bytes",
        "[STABLE] Current working set of the pod in bytes",
        "gauge",
        ofPods(
          (use) => use.memory.workingSetBytes,
          (use) => use.memory.time,
        ),
      ),
      metricText(
        "resource_scrape_error",
        "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
        "gauge",
        single(0),
      ),
    ].join("");
  }
}

/** A pod's use is that of its containers together. */
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
