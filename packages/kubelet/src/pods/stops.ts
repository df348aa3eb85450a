import type { Pod } from "@dray/api/core/v1";
import type { Clock, Log } from "@dray/client";
import { runHook } from "../lifecycle/hooks.ts";
import type { Container, RuntimeService } from "../runtime/service.ts";
import type { StartableContainer } from "../types/containers.ts";

/** Milliseconds before a container that still runs is stopped again. */
const retryDelay = 1000;

export interface StopsOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Log;
  event(pod: Pod, type: "Normal" | "Warning", reason: string, message: string): void;
  /** Called when a stop has ended: the pod has to be synced after `milliseconds`. */
  ended(milliseconds: number): void;
}

/** A container to stop. */
export interface Stop {
  readonly pod: Pod;
  readonly spec: StartableContainer;
  readonly container: Container;
  readonly graceSeconds: number;
  /** Message of the Killing event. */
  readonly message: string;
  /** The pod's address. */
  readonly podIP: string;
}

/**
 * Stops the containers of a pod concurrently: the preStop hook, SIGTERM, and SIGKILL after the grace period.
 */
export class Stops {
  readonly #options: StopsOptions;
  readonly #until = new Map<string, number>();

  constructor(options: StopsOptions) {
    this.#options = options;
  }

  /** Deadline by container ID. */
  get running(): ReadonlyMap<string, number> {
    return this.#until;
  }

  /** Begins a stop, or shortens its grace period. */
  begin(stop: Stop): void {
    const { clock, runtime, log, event, ended } = this.#options;
    const { pod, container, graceSeconds, message } = stop;
    const { id } = container;
    const first = !this.#until.has(id);
    const until = clock.now() + graceSeconds * 1000;
    this.#until.set(id, until);
    if (first) event(pod, "Normal", "Killing", message);
    this.#run(stop, first, until)
      .catch((error: unknown) => log.error({ container: id, err: error }, "cannot stop a container"))
      .then(() => runtime.listContainers(pod.metadata.uid))
      .then(
        (all) => {
          this.#until.delete(id);
          const still = all.find((one) => one.id === id)?.state === "running";
          if (still) log.warn({ container: id }, "a container still runs after it was stopped");
          ended(still ? retryDelay : 0);
        },
        (error: unknown) => {
          this.#until.delete(id);
          log.error({ container: id, err: error }, "cannot see whether a container was stopped");
          ended(retryDelay);
        },
      );
  }

  async #run(
    { pod, spec, container, graceSeconds, podIP }: Stop,
    first: boolean,
    until: number,
  ): Promise<void> {
    const { clock, runtime, event } = this.#options;
    const hook = spec.lifecycle?.preStop;
    if (hook !== undefined && first && graceSeconds > 0) {
      const target = { podUid: pod.metadata.uid, containerId: container.id, spec, podIP };
      const problem = await runHook({ pod, hook, target, timeout: graceSeconds * 1000 }, this.#options);
      if (problem !== undefined) event(pod, "Warning", "FailedPreStopHook", `PreStopHook failed: ${problem}`);
    }
    // At least two seconds, as upstream gives after a hook that took all the time.
    await runtime.stopContainer(container.id, Math.max(until - clock.now(), hook === undefined ? 0 : 2000));
  }
}
