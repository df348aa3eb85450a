import type { Pod } from "@dray/api/core/v1";
import { type Clock, type Log, sleep } from "@dray/client";
import type { SchedulerCache } from "../cache/cache.ts";
import type { Extenders } from "../extenders/extenders.ts";
import type { ExtensionPoints } from "../framework/extension-points.ts";
import type { ClusterEvent, CycleState, Plugin, Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { WaitingPods } from "../framework/waiting-pods.ts";
import type { ExtensionPoint, SchedulerMetrics, Status } from "../metrics/scheduler-metrics.ts";
import type { Nominator } from "../queue/nominator.ts";
import type { SchedulingQueue } from "../queue/queue.ts";
import type { QueuedPod } from "../queue/queued-pod.ts";
import type { FailureHandler } from "./failure-handler.ts";
import type { PodStatusWriter } from "./pod-status.ts";
import type { Profile } from "./profile.ts";
import type { Decision } from "./scheduling-cycle.ts";

export interface BindingCycleOptions {
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly waiting: WaitingPods;
  readonly status: PodStatusWriter;
  readonly failures: FailureHandler;
  readonly notify: (event: ClusterEvent) => void;
  readonly metrics: SchedulerMetrics;
  readonly extenders: Extenders;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Milliseconds until a pod is read again whose binding failed. */
const readAgain = 1_000;

type Placed = Decision & { type: "placed" };

/** The pod as it counts on the node, by the `assume` of plugins. */
export function assumed({ all }: ExtensionPoints, state: CycleState, pod: Pod, node: NodeInfo): Pod {
  return all.reduce((known, plugin) => plugin.assume?.(state, known, node) ?? known, pod);
}

/** Binds a pod to its chosen node: Reserve and Permit at once, then PreBind, Bind and PostBind. */
export class BindingCycle {
  readonly #options: BindingCycleOptions;

  constructor(options: BindingCycleOptions) {
    this.#options = options;
  }

  /** `take`, then `permit`. */
  reserve(profile: Profile, entry: QueuedPod, placed: Placed): Rejection | Map<string, number> {
    return this.take(profile, entry, placed) ?? this.permit(profile, entry, placed);
  }

  /** Counts the pod on its node, with what plugins reserve for it; a rejection by one of them. */
  take(
    { name, points }: Pick<Profile, "name" | "points">,
    { pod }: Pick<QueuedPod, "pod">,
    { node, state }: Placed,
  ): Rejection | undefined {
    const { cache, nominator, metrics } = this.#options;
    cache.assume(assumed(points, state, pod, node), node.name);
    nominator.delete(pod.metadata.uid);
    const since = metrics.now();
    for (const plugin of points.reserve) {
      const rejection = plugin.reserve?.(state, pod, node);
      if (rejection === undefined) continue;
      metrics.point("Reserve", name, "Unschedulable", since);
      return rejection;
    }
    metrics.point("Reserve", name, "Success", since);
    return undefined;
  }

  /** A rejection by a plugin, or the plugins that hold the pod back, with milliseconds. */
  permit(
    { name, points }: Profile,
    { pod }: QueuedPod,
    { node, state }: Placed,
  ): Rejection | Map<string, number> {
    const { metrics } = this.#options;
    const since = metrics.now();
    const waits = new Map<string, number>();
    for (const plugin of points.permit) {
      const result = plugin.permit(state, pod, node);
      if (result.type === "wait") waits.set(plugin.name, result.timeout);
      if (result.type !== "reject") continue;
      metrics.point("Permit", name, "Unschedulable", since);
      return result.rejection;
    }
    metrics.point("Permit", name, waits.size > 0 ? "Wait" : "Success", since);
    return waits;
  }

  /** Takes back what `reserve` did, and wakes the pods that may wait for it. */
  async giveBack(profile: Profile, pod: Pod, node: NodeInfo, state: CycleState): Promise<void> {
    await this.takeBack(profile, pod, node, state);
    // Another pod may wait for what was held.
    this.#options.notify({ kind: "released", pod });
  }

  /** Takes back what `reserve` did, and what was written for the pod. */
  async takeBack(profile: Profile, pod: Pod, node: NodeInfo, state: CycleState): Promise<void> {
    this.#forget(profile, pod, node, state);
    await this.#unreserve(profile.points.reserve, pod, node, state);
  }

  /** Takes back at once what `take` did: the same can be taken again. Nothing is written. */
  undo(profile: Pick<Profile, "points">, pod: Pod, node: NodeInfo, state: CycleState): void {
    this.#forget(profile, pod, node, state);
    const others = profile.points.reserve.filter(({ undo }) => undo === undefined);
    if (others.length > 0) void this.#unreserve(others, pod, node, state);
  }

  #forget({ points }: Pick<Profile, "points">, pod: Pod, node: NodeInfo, state: CycleState): void {
    this.#options.cache.unassume(pod.metadata.uid);
    for (const plugin of points.reserve.toReversed()) plugin.undo?.(state, pod, node);
  }

  async #unreserve(plugins: readonly Plugin[], pod: Pod, node: NodeInfo, state: CycleState): Promise<void> {
    const work = plugins.toReversed().map(async (plugin) => {
      try {
        await plugin.unreserve?.(state, pod, node);
      } catch (error) {
        this.#options.log.error({ plugin: plugin.name, err: error }, "cannot take back what was reserved");
      }
    });
    await Promise.all(work);
  }

  async bind(
    profile: Profile,
    entry: QueuedPod,
    placed: Placed,
    waits: ReadonlyMap<string, number>,
  ): Promise<void> {
    const { queue, waiting, failures, metrics, clock } = this.#options;
    const { node, state } = placed;
    const { pod } = entry;
    if (waits.size > 0) {
      const since = metrics.now();
      const rejection = await waiting.wait(pod, waits);
      metrics.permitWaited(rejection === undefined ? "Success" : "Unschedulable", since);
      if (rejection !== undefined) {
        await this.giveBack(profile, pod, node, state);
        await failures.reject(profile, entry, node.name, rejection);
        return;
      }
    }
    queue.binding(entry);
    try {
      await this.#timed("PreBind", profile, async () => {
        for (const plugin of profile.points.preBind) await plugin.preBind(state, pod, node);
      });
      await this.#timed("Bind", profile, () => this.#bind(profile, pod, node, state));
    } catch (error) {
      if (!(await this.#isBound(profile, entry, placed, error as Error))) return;
    }
    // The entry stays in flight until the watch shows the pod bound: no older state of it starts anew.
    const { namespace, name } = pod.metadata;
    const message = `Successfully assigned ${namespace}/${name} to ${node.name}`;
    profile.recorder.event(pod, "Normal", "Scheduled", message);
    metrics.attempted(profile.name, "scheduled", entry.attemptSince);
    metrics.bound(entry, clock.now() - (entry.firstActive ?? clock.now()));
    for (const plugin of profile.points.postBind) plugin.postBind(state, pod, node);
  }

  async #timed(point: ExtensionPoint, { name }: Profile, run: () => Promise<void>): Promise<void> {
    const { metrics } = this.#options;
    const since = metrics.now();
    let status: Status = "Error";
    try {
      await run();
      status = "Success";
    } finally {
      metrics.point(point, name, status, since);
    }
  }

  async #bind({ name, points }: Profile, pod: Pod, node: NodeInfo, state: CycleState): Promise<void> {
    if (await this.#options.extenders.bind(pod, node)) return;
    for (const plugin of points.bind) if (await plugin.bind(state, pod, node)) return;
    throw new Error(`no plugin of profile ${name} binds the pod`);
  }

  /** After an error: whether the pod is bound all the same. Otherwise what it held is released. */
  async #isBound(
    profile: Profile,
    entry: QueuedPod,
    { node, state }: Placed,
    error: Error,
  ): Promise<boolean> {
    const { status, failures, log, clock, signal } = this.#options;
    const { pod } = entry;
    let now: Pod | undefined;
    for (;;) {
      try {
        now = await status.newest(pod);
        break;
      } catch (unknown) {
        // Its devices may be in use: nothing is released until that is known.
        if (signal.aborted) return false;
        log.warn({ err: unknown }, "cannot read a pod whose binding failed");
        await sleep(clock, readAgain, signal);
      }
    }
    // Our own binding, whose response was lost, or that of another scheduler.
    const bound = now?.spec.nodeName ?? "";
    if (bound === node.name) return true;
    await this.giveBack(profile, now ?? pod, node, state);
    if (bound === "") await failures.fail(profile, entry, error);
    return false;
  }
}
