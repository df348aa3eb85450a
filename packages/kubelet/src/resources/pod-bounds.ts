import { isDeepStrictEqual } from "node:util";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceConfig } from "../runtime/config.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { type BoundsOptions, podResources, widerResources } from "./resource-config.ts";

/**
 * The bounds of a pod as a whole while its containers are resized: they grow before those of the containers, and shrink
 * after them.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doPodResizeAction.
 */
export class PodBounds {
  readonly #runtime: RuntimeService;
  readonly #options: BoundsOptions;
  /** What the sandbox has; undefined where this agent does not know. */
  #applied: ResourceConfig | undefined;

  constructor(runtime: RuntimeService, options: BoundsOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  /** Notes that a sandbox was made with the bounds of the pod. */
  made(pod: Pod): void {
    this.#applied = podResources(pod, this.#options);
  }

  /** What the sandbox of the pod has. */
  of(pod: Pod): ResourceConfig {
    return this.#applied ?? podResources(pod, this.#options);
  }

  /** Makes room for containers that go from what `before` says to what `pod` says. */
  async widen(sandboxId: string, before: Pod, pod: Pod): Promise<void> {
    const bounds = widerResources(podResources(before, this.#options), podResources(pod, this.#options));
    await this.#apply(sandboxId, bounds);
  }

  /** All containers have what the pod says. */
  async settle(sandboxId: string, pod: Pod): Promise<void> {
    await this.#apply(sandboxId, podResources(pod, this.#options));
  }

  async #apply(sandboxId: string, bounds: ResourceConfig): Promise<void> {
    if (isDeepStrictEqual(this.#applied, bounds)) return;
    // It may be done in part.
    this.#applied = undefined;
    await this.#runtime.updatePodSandboxResources(sandboxId, bounds);
    this.#applied = bounds;
  }
}
