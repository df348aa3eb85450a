import type { Pod } from "@dray/api/core/v1";
import { shortened } from "../../base/text.ts";
import { checkMemoryShrinks } from "../../resources/memory-shrink.ts";
import type { ResizedContainer, ResizeEvent } from "../../resources/resize.ts";
import { containerResources } from "../../resources/resource-config.ts";
import type { Observed } from "../observed.ts";
import type { PodState } from "../pod-state.ts";
import { stopContainer } from "./stop-container.ts";

/** Delay in milliseconds of the next attempt of a resize that was deferred or has failed. */
const retryDelay = 10_000;

/**
 * Gives running containers the bounds that the pod has now (KEP-1287). Returns the pod with its allocated
 * resources.
 */
export async function resizeRunning(state: PodState, known: Pod, observed: Observed): Promise<Pod> {
  if (!state.mayRun(known)) return state.resize.effective(known);
  return new RunningResize(state, known, observed).run();
}

class RunningResize {
  readonly #state: PodState;
  /** The pod as the API server has it. */
  readonly #known: Pod;
  readonly #observed: Observed;
  readonly #sandboxId: string | undefined;

  constructor(state: PodState, known: Pod, observed: Observed) {
    this.#state = state;
    this.#known = known;
    this.#observed = observed;
    const [sandbox] = observed.sandboxes;
    this.#sandboxId = sandbox?.ready === true ? sandbox.id : undefined;
  }

  async run(): Promise<Pod> {
    const { resize, context, uid } = this.#state;
    this.#record(resize.consider(this.#known, context.node(), context.admit));
    if (resize.isDeferred) context.requeueAfter(uid, retryDelay);
    const pod = resize.effective(this.#known);
    const outdated = resize.outdated(pod, this.#observed.containers);
    if (!(await this.#makeRoom(pod, outdated))) return pod;
    let complete = true;
    for (const one of outdated) complete = (await this.#resizeContainer(pod, one)) && complete;
    if (complete) await this.#settle(pod);
    return pod;
  }

  /** Widens the bounds of the sandbox before those of containers. Returns false on failure. */
  async #makeRoom(pod: Pod, outdated: readonly ResizedContainer[]): Promise<boolean> {
    const { resize, bounds, context } = this.#state;
    const { containers } = this.#observed;
    const running = resize.running(pod, containers);
    try {
      if (resize.isInProgress) {
        const change = { before: running, pod, outdated, containers };
        await checkMemoryShrinks(context.runtime.service, change, context.bounds);
      }
      if (this.#sandboxId !== undefined && outdated.length > 0)
        await bounds.widen(this.#sandboxId, running, pod);
    } catch (error) {
      this.#failed(error);
      return false;
    }
    return true;
  }

  /** Returns false if the container does not have its bounds yet. */
  async #resizeContainer(pod: Pod, { spec, container, restart }: ResizedContainer): Promise<boolean> {
    const { stops, resize, context } = this.#state;
    if (stops.running.has(container.id)) return false;
    if (restart) {
      const message = `Container ${spec.name} resize requires restart`;
      const graceSeconds = Number(pod.spec.terminationGracePeriodSeconds ?? 30);
      stopContainer(
        this.#state,
        pod,
        { spec, container, graceSeconds, message, replace: true },
        this.#observed,
      );
      return false;
    }
    try {
      const resources = containerResources(pod, spec, context.node(), context.bounds);
      await context.runtime.service.updateContainerResources(container.id, resources);
      resize.started(container.id, spec, pod);
    } catch (error) {
      this.#failed(error, spec.name);
      return false;
    }
    return true;
  }

  /** Narrows the bounds of the sandbox after those of containers. */
  async #settle(pod: Pod): Promise<void> {
    const { resize, bounds } = this.#state;
    try {
      if (this.#sandboxId !== undefined) await bounds.settle(this.#sandboxId, pod);
      resize.settled(pod);
      this.#record(resize.completed(this.#known));
    } catch (error) {
      this.#failed(error);
    }
  }

  #record(event: ResizeEvent | undefined): void {
    if (event !== undefined) this.#state.events.record(this.#known, event);
  }

  #failed(error: unknown, container?: string): void {
    const { resize, context, uid } = this.#state;
    const message = shortened((error as Error).message);
    this.#record(resize.failed(this.#known, message));
    context.log.info({ pod: this.#known.metadata.name, container, message }, "not resized");
    context.requeueAfter(uid, retryDelay);
  }
}
