import { join } from "node:path";
import type { Pod } from "@dray/api/core/v1";
import type { NodePaths } from "../base/paths.ts";
import { podLogDirectory } from "../containers/container-config.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { emptyDir as emptyDirPlugin } from "../volumes/kinds/empty-dir.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { PodUsage } from "./ranking.ts";

export interface UsageSources {
  readonly runtime: RuntimeService;
  readonly paths: NodePaths;
  readonly volumes: Volumes;
}

/**
 * Returns the usage of pods by UID: memory as far as the runtime reports it, and the disk of their logs and
 * emptyDirs. Other writes of containers are not counted. Pods that the runtime does not report are omitted.
 */
export async function podUsages(
  pods: readonly Pod[],
  { runtime, paths, volumes }: UsageSources,
): Promise<ReadonlyMap<string, PodUsage>> {
  const stats = new Map((await runtime.listContainerStats()).map((one) => [one.containerId, one]));
  const usages = new Map<string, PodUsage>();
  for (const pod of pods) {
    const logs = podLogDirectory(paths, pod);
    const containers = await Promise.all(
      (await runtime.listContainers(pod.metadata.uid))
        .filter(({ id }) => stats.has(id))
        .map(async ({ id, config: { name } }) => ({
          name,
          memory: BigInt(Math.round(stats.get(id)?.memoryWorkingSetBytes ?? 0)),
          logs: (await volumes.usage.of(join(logs, name)))?.bytes ?? 0n,
        })),
    );
    if (containers.length === 0) continue;
    const folders = (pod.spec.volumes ?? [])
      .filter(({ emptyDir }) => emptyDir !== undefined && (emptyDir.medium ?? "") === "")
      .map(({ name }) => volumes.folder(pod, emptyDirPlugin, name));
    const trees = await Promise.all([logs, ...folders].map((path) => volumes.usage.of(path)));
    usages.set(pod.metadata.uid, {
      memory: containers.reduce((sum, { memory }) => sum + memory, 0n),
      disk: trees.reduce((sum, tree) => sum + (tree?.bytes ?? 0n), 0n),
      inodes: trees.reduce((sum, tree) => sum + (tree?.inodes ?? 0n), 0n),
      containers,
    });
  }
  return usages;
}
