import { join } from "node:path";
import { Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isSidecar, podLimits } from "@dray/api/pod";
import type { Clock, Log } from "@dray/client";
import type { NodePaths } from "../paths.ts";
import { podLogDirectory } from "./container-config.ts";
import { diskUsage } from "./disk-usage.ts";
import type { Volumes } from "./volumes.ts";

/** A pod that may be evicted. */
export interface EvictablePod {
  readonly pod: Pod | undefined;
  readonly active: boolean;
  /** Ends the pod at once. */
  evict(message: string): void;
}

export interface LocalStorageOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly paths: NodePaths;
  readonly volumes: Volumes;
  pods(): Iterable<EvictablePod>;
}

/** Milliseconds between two looks. Upstream: pkg/kubelet/kubelet.go, evictionMonitoringPeriod. */
const monitoringPeriod = 10_000;

/**
 * Evicts pods that take more of the node's disk than they say: more than the `sizeLimit` of an emptyDir, or than their
 * limit of `ephemeral-storage`, by emptyDirs and logs. What containers write elsewhere is not counted.
 *
 * Upstream: pkg/kubelet/eviction/eviction_manager.go, localStorageEviction.
 */
export class LocalStorageMonitor {
  readonly #options: LocalStorageOptions;
  #cancel: (() => void) | undefined;
  #looking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: LocalStorageOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(monitoringPeriod, () => {
      this.#looking = this.#look().then(() => {
        if (!this.#stopped) this.start();
      });
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#looking;
  }

  async #look(): Promise<void> {
    for (const { pod, active, evict } of this.#bound()) {
      if (this.#stopped) return;
      if (pod === undefined || !active) continue;
      try {
        const message = await this.#excess(pod);
        if (message !== undefined) evict(message);
      } catch (error) {
        this.#options.log.warn({ pod: pod.metadata.name, err: error }, "cannot see how much disk a pod uses");
      }
    }
  }

  #bound(): EvictablePod[] {
    return [...this.#options.pods()].map((one) => ({
      pod: one.pod,
      active: one.active,
      evict: (message) => one.evict(message),
    }));
  }

  /** Says what a pod has too much of. */
  async #excess(pod: Pod): Promise<string | undefined> {
    const { volumes, paths } = this.#options;
    const onDisk = (pod.spec.volumes ?? []).filter(
      ({ emptyDir }) => emptyDir !== undefined && (emptyDir.medium ?? "") === "",
    );
    const limit = podLimits(pod).get("ephemeral-storage");
    const limited = limit !== undefined && limit.sign > 0;
    let total = 0n;
    for (const { name, emptyDir } of onDisk) {
      const size = Quantity.parse(emptyDir?.sizeLimit ?? "0");
      if (size.sign <= 0 && !limited) continue;
      const used = await diskUsage(volumes.folder(pod, "empty-dir", name));
      total += used;
      if (size.sign > 0 && used > size.value())
        return `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit "${emptyDir?.sizeLimit}". `;
    }
    if (!limited) return undefined;
    const logs = podLogDirectory(paths, pod);
    if (total + (await diskUsage(logs)) > limit.value())
      return `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
    const long = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
    for (const { name, resources } of long) {
      const own = Quantity.parse(resources?.limits?.["ephemeral-storage"] ?? "0");
      if (own.sign > 0 && (await diskUsage(join(logs, name))) > own.value())
        return `Container ${name} exceeded its local ephemeral storage limit "${own}". `;
    }
    return undefined;
  }
}
