import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock, Log } from "@dray/client";
import { removeFolder } from "@dray/files";
import { removeTree } from "../base/mounts.ts";
import type { NodePaths } from "../base/paths.ts";

export interface OrphanSweepOptions {
  readonly paths: NodePaths;
  readonly clock: Clock;
  readonly log: Log;
  /** UIDs of pods with sandboxes. */
  sandboxed(): Promise<ReadonlySet<string>>;
  /** True for a pod of the node, or one with a worker. */
  isKnown(uid: string): boolean;
}

/** Interval of sweeps in milliseconds. */
const sweepInterval = 60_000;

/**
 * Removes files of unknown pods: an agent that was killed between making the volumes of a pod, with tokens in
 * them, and its sandbox left no other trace.
 *
 * Upstream: pkg/kubelet/kubelet_volumes.go, cleanupOrphanedPodDirs; kuberuntime_gc.go,
 * evictPodLogsDirectories.
 */
export class OrphanSweep {
  readonly #options: OrphanSweepOptions;
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(options: OrphanSweepOptions) {
    this.#options = options;
  }

  /** Sweeps now and periodically. Resolves after the first sweep. */
  async start(): Promise<void> {
    await this.#sweep();
    if (this.#stopped) return;
    this.#cancel = this.#options.clock.after(sweepInterval, () => void this.start());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  async #sweep(): Promise<void> {
    const { paths, log } = this.#options;
    let sandboxed: ReadonlySet<string>;
    try {
      sandboxed = await this.#options.sandboxed();
    } catch (error) {
      log.warn({ err: error }, "cannot look for what is left of pods that are gone");
      return;
    }
    if (this.#stopped) return;
    for (const uid of this.#entries(paths.pods))
      await this.#remove(uid, join(paths.pods, uid), sandboxed, removeTree);
    // NAMESPACE_NAME_UID, none of which has an underscore; nothing is mounted there.
    for (const name of this.#entries(paths.podLogs)) {
      const parts = name.split("_");
      if (parts.length === 3)
        await this.#remove(parts[2] ?? "", join(paths.podLogs, name), sandboxed, removeFolder);
    }
  }

  #entries(path: string): string[] {
    try {
      return readdirSync(path);
    } catch (error) {
      this.#options.log.warn({ path, err: error }, "cannot look for what is left of pods that are gone");
      return [];
    }
  }

  async #remove(
    uid: string,
    path: string,
    sandboxed: ReadonlySet<string>,
    remove: (path: string) => Promise<void>,
  ): Promise<void> {
    const { log, isKnown } = this.#options;
    if (this.#stopped || isKnown(uid) || sandboxed.has(uid)) return;
    try {
      await remove(path);
      log.info({ pod: uid, path }, "removed what was left of a pod that is gone");
    } catch (error) {
      log.warn({ pod: uid, path, err: error }, "cannot remove what was left of a pod that is gone");
    }
  }
}
