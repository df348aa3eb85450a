import type { Pod } from "@dray/api/core/v1";
import { type Clock, type Log, sleep } from "@dray/client";
import type { RunningPod } from "../pods/pod-workers.ts";
import { shutdownReason } from "../types/pod-end.ts";
import { systemCriticalPriority } from "../types/priority.ts";
import type { Refusal } from "../types/refusal.ts";

/** Times of a graceful node shutdown in milliseconds; a `gracePeriod` of 0 disables it. */
export interface ShutdownGracePeriods {
  /** For all pods (`shutdownGracePeriod`). */
  readonly gracePeriod: number;
  /** The part of it at the end for critical pods (`shutdownGracePeriodCriticalPods`). */
  readonly gracePeriodCriticalPods: number;
}

/** Grace period of pods with at least this priority, and less than that of the next period. */
export interface PriorityPeriod {
  readonly priority: number;
  readonly seconds: number;
}

/**
 * Consecutive periods in whole seconds; empty if none is configured.
 *
 * Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go, migrateConfig.
 */
export function priorityPeriods({
  gracePeriod,
  gracePeriodCriticalPods,
}: ShutdownGracePeriods): PriorityPeriod[] {
  if (gracePeriod === 0 || gracePeriodCriticalPods > gracePeriod) return [];
  const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
  return [
    { priority: 0, seconds: seconds(gracePeriod - gracePeriodCriticalPods) },
    { priority: systemCriticalPriority, seconds: seconds(gracePeriodCriticalPods) },
  ];
}

/**
 * Assigns each pod to the last period whose priority it reaches, or to the first. Periods without pods are
 * left out. `periods` are in ascending order of priority.
 *
 * Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go, groupByPriority.
 */
export function groupByPeriod<T extends { readonly pod: Pod }>(
  periods: readonly PriorityPeriod[],
  pods: Iterable<T>,
): { readonly period: PriorityPeriod; readonly pods: readonly T[] }[] {
  const groups = periods.map((period) => ({ period, pods: [] as T[] }));
  for (const one of pods) {
    const priority = Number(one.pod.spec.priority ?? 0);
    const group = groups.findLast(({ period }) => period.priority <= priority) ?? groups[0];
    group?.pods.push(one);
  }
  return groups.filter((group) => group.pods.length > 0);
}

export interface NodeShutdownOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly periods: ShutdownGracePeriods;
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
  pods(): Iterable<RunningPod>;
  /** Reports the status of the Node at once. */
  reportNode(): Promise<void>;
  /** Records an event of the Node. */
  event(reason: string, message: string): void;
}

/** Milliseconds for the kill and the last status of pods that use up the last period. */
const killTimeout = 2000;
const message = "Pod was terminated in response to imminent node shutdown.";

/**
 * Graceful node shutdown: pods end by priority, each group within its period, and no new ones are admitted.
 *
 * Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go, podManager.killPods (KEP-2000, KEP-2712).
 */
export class NodeShutdown {
  readonly #options: NodeShutdownOptions;
  #running: Promise<void> | undefined;

  constructor(options: NodeShutdownOptions) {
    this.#options = options;
  }

  /** Why the node is not ready: undefined until `run` is called. */
  get problem(): string | undefined {
    return this.#running === undefined ? undefined : "node is shutting down";
  }

  /** Why a new pod is not admitted: undefined until `run` is called. */
  get refusal(): Refusal | undefined {
    if (this.#running === undefined) return undefined;
    return { reason: "NodeShutdown", message: "Pod was rejected as the node is shutting down." };
  }

  /** Resolves when all pods have ended or all periods are over; at once if no period is configured. */
  run(): Promise<void> {
    const periods = priorityPeriods(this.#options.periods);
    if (periods.length === 0) return Promise.resolve();
    this.#running ??= Promise.resolve().then(() => this.#run(periods));
    return this.#running;
  }

  async #run(periods: readonly PriorityPeriod[]): Promise<void> {
    const { log, pods, reportNode, event, signal } = this.#options;
    event("NodeShutdown", "Shutdown manager detected shutdown event");
    const report = reportNode().catch((error: unknown) => {
      log.warn({ err: error }, "the Node could not be marked as shutting down");
    });
    const ends: Promise<void>[] = [report];
    for (const { period, pods: group } of groupByPeriod(periods, pods())) {
      log.info({ priority: period.priority, seconds: period.seconds, pods: group.length }, "pods are ended");
      const own = group.map((one) => {
        const grace = Number(one.pod.spec.terminationGracePeriodSeconds ?? period.seconds);
        const graceSeconds = Math.min(grace, period.seconds);
        return one.end({ reason: shutdownReason, message, graceSeconds, isDisruption: true });
      });
      for (const end of own) ends.push(end);
      await this.#within(period.seconds * 1000, own);
    }
    await this.#within(killTimeout, ends);
    if (!signal.aborted) log.info({}, "the pods of the node have ended, or their time is over");
  }

  /** Resolves when all have resolved, or after `milliseconds`. */
  async #within(milliseconds: number, ends: readonly Promise<void>[]): Promise<void> {
    const { clock, signal } = this.#options;
    const over = new AbortController();
    await Promise.race([
      Promise.all(ends),
      sleep(clock, milliseconds, AbortSignal.any([signal, over.signal])),
    ]);
    over.abort();
  }
}
