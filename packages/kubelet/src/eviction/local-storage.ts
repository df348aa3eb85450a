import { join } from "node:path";
import { Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isSidecar, podLimits } from "@dray/api/pod";
import type { NodePaths } from "../base/paths.ts";
import { podLogDirectory } from "../containers/container-config.ts";
import { emptyDir as emptyDirPlugin } from "../volumes/kinds/empty-dir.ts";
import type { Volumes } from "../volumes/volumes.ts";

export interface LocalStorageOptions {
  readonly paths: NodePaths;
  readonly volumes: Volumes;
}

/**
 * Finds pods that use more of the node's disk than they declare: more than the `sizeLimit` of an emptyDir, or
 * than their limit of `ephemeral-storage`, by emptyDirs and logs. Other writes of containers are not counted.
 *
 * Upstream: pkg/kubelet/eviction/eviction_manager.go, localStorageEviction.
 */
export class LocalStorage {
  readonly #options: LocalStorageOptions;

  constructor(options: LocalStorageOptions) {
    this.#options = options;
  }

  /** Returns the message of the eviction; undefined if the pod keeps to its limits. */
  async excess(pod: Pod): Promise<string | undefined> {
    const { volumes, paths } = this.#options;
    const onDisk = (pod.spec.volumes ?? []).filter(
      ({ emptyDir }) => emptyDir !== undefined && (emptyDir.medium ?? "") === "",
    );
    const limit = podLimits(pod).get("ephemeral-storage");
    const limited = limit !== undefined && limit.sign > 0;
    const bytesOf = async (path: string): Promise<bigint> => (await volumes.usage.of(path))?.bytes ?? 0n;
    let total = 0n;
    for (const { name, emptyDir } of onDisk) {
      const size = Quantity.parse(emptyDir?.sizeLimit ?? "0");
      if (size.sign <= 0 && !limited) continue;
      const used = await bytesOf(volumes.folder(pod, emptyDirPlugin, name));
      total += used;
      if (size.sign > 0 && used > size.value())
        return `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit "${emptyDir?.sizeLimit}". `;
    }
    if (!limited) return undefined;
    const logs = podLogDirectory(paths, pod);
    if (total + (await bytesOf(logs)) > limit.value())
      return `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
    const long = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
    for (const { name, resources } of long) {
      const own = Quantity.parse(resources?.limits?.["ephemeral-storage"] ?? "0");
      if (own.sign > 0 && (await bytesOf(join(logs, name))) > own.value())
        return `Container ${name} exceeded its local ephemeral storage limit "${own}". `;
    }
    return undefined;
  }
}
