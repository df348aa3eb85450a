import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { type Client, type Clock, type EventRecorder, type Log, timeText } from "@dray/client";
import type { UntilAnswered } from "../answered.ts";
import { priorityOf } from "../cycle.ts";
import type { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import type { Nominator } from "../nominator.ts";
import type { PodStatusWriter } from "../pod-status.ts";
import type { SchedulingQueue } from "../queue.ts";
import type { WaitingPods } from "../waiting-pods.ts";
import type { Candidate } from "./victims.ts";

export interface PreemptionExecutorOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly answered: UntilAnswered;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly status: PodStatusWriter;
  readonly waiting: WaitingPods;
  readonly metrics: SchedulerMetrics;
  /** Runs work behind the scheduling loop's back. */
  readonly track: (work: Promise<void>) => void;
}

/**
 * Evicts victims behind the scheduling loop's back; the pod that they make room for is gated until that is done.
 * Upstream: framework/preemption/executor.go (KEP-4832).
 */
export class PreemptionExecutor {
  readonly #options: PreemptionExecutorOptions;
  /** UIDs of the pods for which others are being evicted. */
  readonly #preempting = new Set<string>();

  constructor(options: PreemptionExecutorOptions) {
    this.#options = options;
  }

  isPreempting(uid: string): boolean {
    return this.#preempting.has(uid);
  }

  start(pod: Pod, candidate: Candidate, recorder: EventRecorder): void {
    const { nominator, track } = this.#options;
    // The others may not fit any more beside the pod.
    const displaced = nominator
      .on(candidate.node.name)
      .filter((other) => priorityOf(other) < priorityOf(pod));
    for (const other of displaced) nominator.delete(other.metadata.uid);
    const victims = candidate.victims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (victims.length > 0) this.#preempting.add(pod.metadata.uid);
    track(this.#run(pod, candidate, victims, displaced, recorder));
  }

  async #run(
    pod: Pod,
    candidate: Candidate,
    victims: readonly Pod[],
    displaced: readonly Pod[],
    recorder: EventRecorder,
  ): Promise<void> {
    const { queue, status, metrics, log } = this.#options;
    const since = metrics.now();
    for (const other of displaced) {
      queue.activate(other.metadata.uid);
      await status
        .clearNomination(other)
        .catch((error: unknown) => log.warn({ err: error }, "cannot clear the nominated node of a pod"));
    }
    const results = await Promise.allSettled(
      victims.map((victim) => this.#evict(pod, victim, candidate, recorder)),
    );
    this.#preempting.delete(pod.metadata.uid);
    const failed = results.find((result) => result.status === "rejected");
    if (victims.length > 0) metrics.preempted(failed === undefined ? "success" : "error", since);
    if (failed !== undefined) {
      log.error({ err: failed.reason }, "a pod could not be preempted");
      queue.activate(pod.metadata.uid);
    } else queue.regate(pod.metadata.uid);
  }

  async #evict(pod: Pod, victim: Pod, { node }: Candidate, recorder: EventRecorder): Promise<void> {
    const { waiting } = this.#options;
    const { uid } = victim.metadata;
    const message = `Preempted by pod ${pod.metadata.uid} on node ${node.name}`;
    if (waiting.has(uid)) {
      // It is not bound yet: it goes back to the queue.
      waiting.reject(uid, { plugin: "DefaultPreemption", reasons: ["preempted"], resolvable: true });
      recorder.event(victim, "Normal", "Preempted", `${message} (in kube-scheduler memory).`);
    } else if (await this.#delete(pod, victim)) recorder.event(victim, "Normal", "Preempted", message);
  }

  /** Marks the victim and deletes it with its grace period; false: it was gone. */
  async #delete(pod: Pod, { metadata, status }: Pod): Promise<boolean> {
    const { client, clock, answered } = this.#options;
    const { uid, generation } = metadata;
    const pods = client.resource(Pod);
    const reason = "PreemptionByScheduler";
    const message = `${pod.spec.schedulerName}: preempting to accommodate a higher priority pod`;
    const known = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    try {
      if (known?.status !== "True" || known.reason !== reason || known.message !== message) {
        const condition = {
          type: "DisruptionTarget",
          status: "True",
          reason,
          message,
          observedGeneration: generation,
          lastTransitionTime: timeText(clock.now()),
        };
        const patch = { metadata: { uid }, status: { conditions: [condition] } };
        await answered(() => pods.patch(metadata, "strategic", patch, { subresource: "status" }));
      }
      await answered(() => pods.delete(metadata, { preconditions: { uid } }));
      return true;
    } catch (error) {
      // Gone, or replaced by another of its name.
      const other = StatusError.is(error, "Conflict") || StatusError.is(error, "Invalid");
      if (StatusError.is(error, "NotFound") || other) return false;
      throw error;
    }
  }
}
