import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock, Log } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import { removeTree } from "../base/unmount.ts";

export interface OrphanSweepOptions {
  readonly paths: NodePaths;
  readonly clock: Clock;
  readonly log: Log;
  /** The pods that have sandboxes. */
  sandboxed(): Promise<ReadonlySet<string>>;
  /** True for a pod that the node has or works on. */
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
  #stopped = false;

  constructor(options: OrphanSweepOptions) {
    this.#options = options;
  }

  /** Sweeps now, and from time to time. Resolves after the first sweep. */
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
    for (const uid of this.#entries(paths.pods)) this.#remove(uid, join(paths.pods, uid), sandboxed);
    // NAMESPACE_NAME_UID: none of the three holds an underscore.
    for (const name of this.#entries(paths.podLogs)) {
      const parts = name.split("_");
      if (parts.length === 3) this.#remove(parts[2] ?? "", join(paths.podLogs, name), sandboxed);
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

  #remove(uid: string, path: string, sandboxed: ReadonlySet<string>): void {
    const { log, isKnown } = this.#options;
    if (isKnown(uid) || sandboxed.has(uid)) return;
    try {
      removeTree(path);
      log.info({ pod: uid, path }, "removed what was left of a pod that is gone");
    } catch (error) {
      log.warn({ pod: uid, path, err: error }, "cannot remove what was left of a pod that is gone");
    }
  }
}
