import type { Clock, Log } from "@dray/client";
import { type Diagnosis, diagnosisText } from "../framework/diagnosis.ts";
import type { PostFilterResult, Rejection } from "../framework/framework.ts";
import type { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import type { Nominator } from "../queue/nominator.ts";
import type { SchedulingQueue } from "../queue/queue.ts";
import type { QueuedPod } from "../queue/queued-pod.ts";
import { CauseBudget } from "./cause-budget.ts";
import { eventMessage } from "./event-message.ts";
import type { PodStatusWriter, Refusal } from "./pod-status.ts";
import type { Profile } from "./profile.ts";
import type { Decision } from "./scheduling-cycle.ts";

export interface FailureHandlerOptions {
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly status: PodStatusWriter;
  readonly metrics: SchedulerMetrics;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Handles a pod that got no node: runs PostFilter, writes status and event, and queues the pod again. */
export class FailureHandler {
  readonly #options: FailureHandlerOptions;
  readonly #causes: CauseBudget;

  constructor(options: FailureHandlerOptions) {
    this.#options = options;
    this.#causes = new CauseBudget(options.clock);
  }

  /**
   * No node is feasible. Code before the first `await` sees the nodes as they were when they rejected the
   * pod.
   */
  async refuse(profile: Profile, entry: QueuedPod, decision: Decision & { type: "refused" }): Promise<void> {
    const { diagnosis, state, plugins } = decision;
    const { metrics } = this.#options;
    const since = metrics.now();
    const results: (PostFilterResult | Promise<PostFilterResult>)[] = [];
    let afterwards: PostFilterResult[];
    try {
      if (diagnosis.nodes > 0) {
        const rejections = rejectionsOfAll(decision);
        for (const plugin of profile.points.postFilter)
          results.push(plugin.postFilter(state, entry.pod, rejections));
        // Pods that are scheduled while the others are awaited must know of it.
        for (const result of results)
          if (!(result instanceof Promise)) this.#nominate(entry, result.nominatedNode);
      }
      afterwards = await Promise.all(results);
      if (results.length > 0) {
        const status = afterwards.some(({ done }) => done) ? "Success" : "Unschedulable";
        metrics.point("PostFilter", profile.name, status, since);
      }
    } catch (error) {
      await Promise.allSettled(results);
      return this.fail(profile, entry, error as Error);
    }
    const done = afterwards.find(({ done }) => done);
    const relevant = done === undefined ? afterwards : [done];
    const messages = relevant.flatMap(({ message }) => (message ? [message] : []));
    const nominatedNode = relevant.findLast((result) => result.nominatedNode !== undefined)?.nominatedNode;
    const message = diagnosisText(diagnosis, messages);
    const cause = this.#causes.of(relevant);
    const refusal = {
      reason: "Unschedulable",
      message,
      ...(nominatedNode !== undefined && { nominatedNode }),
    } as const;
    await this.#wait(profile, entry, plugins, { ...refusal, cause });
  }

  /** The node that was chosen is refused by Reserve or Permit. */
  async reject(profile: Profile, entry: QueuedPod, node: string, rejection: Rejection): Promise<void> {
    const diagnosis: Diagnosis = { nodes: 1, rejections: new Map([[node, rejection]]) };
    await this.#wait(profile, entry, [rejection.plugin], {
      reason: "Unschedulable",
      message: diagnosisText(diagnosis, []),
      nominatedNode: "",
    });
  }

  /** The pod was scheduled with its group, and got no node. */
  async refuseInGroup(
    profile: Profile,
    entry: QueuedPod,
    rejectedBy: readonly string[],
    { message, nominatedNode }: { readonly message: string; readonly nominatedNode: string | undefined },
  ): Promise<void> {
    await this.#wait(profile, entry, rejectedBy, {
      reason: "Unschedulable",
      message,
      ...(nominatedNode !== undefined && { nominatedNode }),
    });
  }

  /** The attempt failed, whatever the nodes have: it is repeated after a while. */
  async fail(profile: Profile, entry: QueuedPod, { message }: { readonly message: string }): Promise<void> {
    await this.#wait(profile, entry, [], { reason: "SchedulerError", message, nominatedNode: "" });
  }

  async #wait(
    { name, recorder }: Profile,
    entry: QueuedPod,
    rejectedBy: readonly string[],
    { cause = "", ...refusal }: Refusal & { readonly cause?: string },
  ): Promise<void> {
    const { queue, status, metrics, log, signal } = this.#options;
    const { reason, message } = refusal;
    metrics.attempted(name, reason === "Unschedulable" ? "unschedulable" : "error", entry.attemptSince);
    // It is gone, or bound by another.
    if (!queue.failed(entry, rejectedBy)) return;
    const { pod } = entry;
    this.#nominate(entry, refusal.nominatedNode);
    recorder.event(pod, "Warning", "FailedScheduling", eventMessage(message, cause));
    log.debug({ pod: `${pod.metadata.namespace}/${pod.metadata.name}`, reason }, message);
    try {
      await status.refuse(pod, refusal);
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, "cannot write why a pod waits");
    }
  }

  #nominate(entry: QueuedPod, node: string | undefined): void {
    const { queue, nominator } = this.#options;
    if (node !== undefined && queue.has(entry)) nominator.set(entry.pod, node);
  }
}

/** Rejections by node; a rejection by PreFilter counts for all nodes. */
function rejectionsOfAll({
  diagnosis: { rejections, upfront },
  nodes,
}: Decision & { type: "refused" }): ReadonlyMap<string, Rejection> {
  return upfront === undefined ? rejections : new Map(nodes.map(({ name }) => [name, upfront]));
}
