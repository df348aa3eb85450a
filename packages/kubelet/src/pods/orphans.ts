import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock, Log } from "@dray/client";
import type { NodePaths } from "../paths.ts";

export interface OrphanSweepOptions {
  readonly paths: NodePaths;
  readonly clock: Clock;
  readonly log: Log;
  /** True for a pod that the node has, works on, or has a sandbox of. */
  isKnown(uid: string): boolean;
}

/** Milliseconds between two sweeps. */
const sweepInterval = 60_000;

/**
 * Removes what is left on disk of pods that nobody knows any more: an agent that was killed after it had made the
 * volumes of a pod, tokens among them, and before the sandbox had left nothing else to find them by.
 *
 * Upstream: pkg/kubelet/kubelet_volumes.go, cleanupOrphanedPodDirs; kuberuntime_gc.go, evictPodLogsDirectories.
 */
export class OrphanSweep {
  readonly #options: OrphanSweepOptions;
  #cancel: (() => void) | undefined;

  constructor(options: OrphanSweepOptions) {
    this.#options = options;
  }

  /** Sweeps now, and from time to time. */
  start(): void {
    this.#sweep();
    this.#cancel = this.#options.clock.after(sweepInterval, () => this.start());
  }

  stop(): void {
    this.#cancel?.();
  }

  #sweep(): void {
    const { paths } = this.#options;
    for (const uid of this.#entries(paths.pods)) this.#remove(uid, join(paths.pods, uid));
    // NAMESPACE_NAME_UID: none of the three holds an underscore.
    for (const name of this.#entries(paths.podLogs)) {
      const parts = name.split("_");
      if (parts.length === 3) this.#remove(parts[2] ?? "", join(paths.podLogs, name));
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

  #remove(uid: string, path: string): void {
    const { log, isKnown } = this.#options;
    if (isKnown(uid)) return;
    try {
      rmSync(path, { recursive: true, force: true });
      log.info({ pod: uid, path }, "removed what was left of a pod that is gone");
    } catch (error) {
      log.warn({ pod: uid, path, err: error }, "cannot remove what was left of a pod that is gone");
    }
  }
}
