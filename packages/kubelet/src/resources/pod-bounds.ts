import { isDeepStrictEqual } from "node:util";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceConfig } from "../runtime/config.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { type BoundsOptions, podResources, widerResources } from "./resource-config.ts";

/**
 * Applies the bounds of a pod as a whole while its containers are resized: before theirs when they grow, and
 * after them when they shrink.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doPodResizeAction.
 */
export class PodBounds {
  readonly #runtime: RuntimeService;
  readonly #options: BoundsOptions;
  /** Bounds of the sandbox; undefined if this agent does not know them. */
  #applied: ResourceConfig | undefined;

  constructor(runtime: RuntimeService, options: BoundsOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  /** Records that a sandbox was made with the bounds of the pod. */
  made(pod: Pod): void {
    this.#applied = podResources(pod, this.#options);
  }

  /** Returns the bounds of the pod's sandbox. */
  of(pod: Pod): ResourceConfig {
    return this.#applied ?? podResources(pod, this.#options);
  }

  /** Makes room for containers that change from `before` to `pod`. */
  async widen(sandboxId: string, before: Pod, pod: Pod): Promise<void> {
    const bounds = widerResources(podResources(before, this.#options), podResources(pod, this.#options));
    await this.#apply(sandboxId, bounds);
  }

  /** Applies the bounds of the pod, since all containers have theirs. */
  async settle(sandboxId: string, pod: Pod): Promise<void> {
    await this.#apply(sandboxId, podResources(pod, this.#options));
  }

  async #apply(sandboxId: string, bounds: ResourceConfig): Promise<void> {
    if (isDeepStrictEqual(this.#applied, bounds)) return;
    // The update may be applied in part.
    this.#applied = undefined;
    await this.#runtime.updatePodSandboxResources(sandboxId, bounds);
    this.#applied = bounds;
  }
}
