import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { type Client, type Clock, type EventRecorder, type Log, timeText } from "@dray/client";
import type { PodStatusWriter } from "../cycle/pod-status.ts";
import { priorityOf } from "../framework/priority.ts";
import type { RetryUnanswered } from "../framework/retry-unanswered.ts";
import type { WaitingPods } from "../framework/waiting-pods.ts";
import type { PreemptorType, SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import type { Nominator } from "../queue/nominator.ts";
import type { SchedulingQueue } from "../queue/queue.ts";

export interface PreemptionExecutorOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly retry: RetryUnanswered;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly status: PodStatusWriter;
  readonly waiting: WaitingPods;
  readonly metrics: SchedulerMetrics;
  /** Runs work behind the scheduling loop's back. */
  readonly track: (work: Promise<void>) => void;
}

/** The pod or group that victims are evicted for. */
export interface Preemptor {
  readonly type: PreemptorType;
  readonly uid: string;
  readonly schedulerName: string;
  readonly priority: number;
  /** The pods that wait. */
  readonly pods: readonly Pod[];
}

export const podPreemptor = (pod: Pod): Preemptor => ({
  type: "pod",
  uid: pod.metadata.uid,
  schedulerName: pod.spec.schedulerName ?? "",
  priority: priorityOf(pod),
  pods: [pod],
});

/** The pods that leave, and the node that they leave; `cluster`: nodes that a group needs. */
export interface Eviction {
  readonly place: string;
  readonly victims: readonly Pod[];
}

/**
 * Evicts victims behind the scheduling loop's back; the pod that they make room for is gated until that is
 * done.
 * Upstream: framework/preemption/executor.go (KEP-4832).
 */
export class PreemptionExecutor {
  readonly #options: PreemptionExecutorOptions;
  /** UIDs of the pods and groups for which others are being evicted. */
  readonly #preempting = new Set<string>();

  constructor(options: PreemptionExecutorOptions) {
    this.#options = options;
  }

  isPreempting(uid: string): boolean {
    return this.#preempting.has(uid);
  }

  start(preemptor: Preemptor, { place, victims: chosen }: Eviction, recorder: EventRecorder): void {
    const { nominator, track } = this.#options;
    // The others may not fit any more beside the pod.
    const displaced = nominator.on(place).filter((other) => priorityOf(other) < preemptor.priority);
    for (const other of displaced) nominator.delete(other.metadata.uid);
    const victims = chosen.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (victims.length > 0) this.#preempting.add(preemptor.uid);
    track(this.#run(preemptor, { place, victims }, displaced, recorder));
  }

  async #run(
    preemptor: Preemptor,
    { place, victims }: Eviction,
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
      victims.map((victim) => this.#evict(preemptor, victim, place, recorder)),
    );
    this.#preempting.delete(preemptor.uid);
    const failed = results.find((result) => result.status === "rejected");
    if (victims.length > 0) {
      metrics.preempted(preemptor.type, failed === undefined ? "success" : "error", since);
    }
    if (failed !== undefined) {
      log.error({ err: failed.reason }, "a pod could not be preempted");
      for (const pod of preemptor.pods) queue.activate(pod.metadata.uid);
    } else for (const pod of preemptor.pods) queue.regate(pod.metadata.uid);
  }

  async #evict(preemptor: Preemptor, victim: Pod, place: string, recorder: EventRecorder): Promise<void> {
    const { waiting } = this.#options;
    const { uid } = victim.metadata;
    const message = `Preempted by ${preemptor.type} ${preemptor.uid} on node ${place}`;
    if (waiting.has(uid)) {
      // It is not bound yet: it goes back to the queue.
      waiting.reject(uid, { plugin: "DefaultPreemption", reasons: ["preempted"], resolvable: true });
      recorder.event(victim, "Normal", "Preempted", `${message} (in kube-scheduler memory).`);
    } else if (await this.#delete(preemptor, victim)) recorder.event(victim, "Normal", "Preempted", message);
  }

  /** Marks the victim and deletes it with its grace period; false: it was gone. */
  async #delete({ schedulerName, type }: Preemptor, { metadata, status }: Pod): Promise<boolean> {
    const { client, clock, retry } = this.#options;
    const { uid, generation } = metadata;
    const pods = client.resource(Pod);
    const reason = "PreemptionByScheduler";
    const message = `${schedulerName}: preempting to accommodate a higher priority ${type}`;
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
        await retry(() => pods.patch(metadata, "strategic", patch, { subresource: "status" }));
      }
      await retry(() => pods.delete(metadata, { preconditions: { uid } }));
      return true;
    } catch (error) {
      // Gone, or replaced by another of its name.
      const other = StatusError.is(error, "Conflict") || StatusError.is(error, "Invalid");
      if (StatusError.is(error, "NotFound") || other) return false;
      throw error;
    }
  }
}
