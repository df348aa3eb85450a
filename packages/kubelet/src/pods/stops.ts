import type { Pod } from "@dray/api/core/v1";
import type { Clock, Log } from "@dray/client";
import { runHook } from "../lifecycle/hooks.ts";
import type { Container, RuntimeService } from "../runtime/service.ts";
import type { StartableContainer } from "../types/containers.ts";

/** Milliseconds until a container that was stopped, and still runs, is stopped again. */
const retryMilliseconds = 1000;

export interface StopsOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Log;
  event(pod: Pod, type: "Normal" | "Warning", reason: string, message: string): void;
  /** A stop has ended: the pod is to be looked at again, after so many milliseconds. */
  ended(milliseconds: number): void;
}

/** What is to be stopped, and how. */
export interface Stop {
  readonly pod: Pod;
  readonly spec: StartableContainer;
  readonly container: Container;
  readonly graceSeconds: number;
  /** Of the Killing event. */
  readonly message: string;
  /** The pod's address. */
  readonly podIP: string;
}

/** Stops the containers of a pod, each beside the others: the preStop hook, SIGTERM, and in the end SIGKILL. */
export class Stops {
  readonly #options: StopsOptions;
  readonly #until = new Map<string, number>();

  constructor(options: StopsOptions) {
    this.#options = options;
  }

  /** By container id: until when it may take its time. */
  get running(): ReadonlyMap<string, number> {
    return this.#until;
  }

  /** Begins, or hurries what has begun. */
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
          ended(still ? retryMilliseconds : 0);
        },
        (error: unknown) => {
          this.#until.delete(id);
          log.error({ container: id, err: error }, "cannot see whether a container was stopped");
          ended(retryMilliseconds);
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
      const problem = await runHook(pod, hook, target, this.#options, graceSeconds * 1000);
      if (problem !== undefined) event(pod, "Warning", "FailedPreStopHook", `PreStopHook failed: ${problem}`);
    }
    // Two seconds at least, as upstream gives after a hook that took all the time.
    await runtime.stopContainer(container.id, Math.max(until - clock.now(), hook === undefined ? 0 : 2000));
  }
}
