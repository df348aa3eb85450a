import type { KubernetesVersion } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import type { EventRecorder } from "@dray/client";
import { priorityOf } from "../cycle.ts";
import type { Extenders } from "../extenders/extenders.ts";
import type { CycleState, Plugin, PostFilterResult, Rejection } from "../framework.ts";
import { counted } from "../message.ts";
import type { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import type { NodeInfo } from "../node-info.ts";
import type { PluginArgs } from "../plugin-args.ts";
import { type Turn, TurnIsOver } from "../turn.ts";
import { leastDisruptive } from "./choose.ts";
import type { PreemptionExecutor } from "./executor.ts";
import { type Candidate, selectVictims, type Trials } from "./victims.ts";

const name = "DefaultPreemption";

export interface DefaultPreemptionOptions {
  readonly args: PluginArgs["DefaultPreemption"];
  /** Whose words are used. */
  readonly release: KubernetesVersion;
  readonly executor: Pick<PreemptionExecutor, "start" | "isPreempting">;
  /** Of the profile. */
  readonly trials: () => Trials;
  readonly recorder: EventRecorder;
  readonly node: (name: string) => NodeInfo | undefined;
  /** The node that the pod is nominated to, also before its status says so. */
  readonly nomination: (pod: Pod) => string | undefined;
  readonly budgets: () => readonly PodDisruptionBudget[];
  readonly turn: Turn;
  readonly extenders: Pick<Extenders, "preemptsFor" | "preempt">;
  readonly metrics: SchedulerMetrics;
  readonly now: () => number;
  /** Between 0 and 1: where the search for candidates begins. */
  readonly random: () => number;
}

/**
 * Makes room for a pod that fits nowhere by evicting pods of lower priority. Devices are not preempted: their plugin
 * rejects nodes as unresolvable. Upstream: plugins/defaultpreemption/default_preemption.go.
 */
export function defaultPreemption(options: DefaultPreemptionOptions): Plugin {
  const { args, executor, turn, metrics, now } = options;

  function preempt(
    state: CycleState,
    pod: Pod,
    rejections: ReadonlyMap<string, Rejection>,
  ): PostFilterResult | Promise<PostFilterResult> {
    const obstacle = ineligible(pod, rejections, options);
    if (obstacle !== undefined) return { message: obstacle };
    const potential = [...rejections].flatMap(([node, { resolvable }]) => {
      const info = resolvable ? options.node(node) : undefined;
      return info === undefined ? [] : [info];
    });
    const { candidates, reasons } = dryRun(state, pod, potential);
    if (candidates.length === 0) {
      const unhelpful = rejections.size - potential.length;
      const all = [...reasons, ...Array<string>(unhelpful).fill("Preemption is not helpful for scheduling")];
      const text = `0/${rejections.size} nodes are available: ${counted(all)}.`;
      return { message: text, nominatedNode: "" };
    }
    if (!options.extenders.preemptsFor(pod)) return actuate(pod, candidates);
    return options.extenders.preempt(pod, candidates).then((left) => actuate(pod, left));
  }

  function actuate(pod: Pod, candidates: readonly Candidate[]): PostFilterResult {
    const best = leastDisruptive(candidates, now());
    if (best === undefined) return { message: "no candidate node for preemption" };
    executor.start(pod, best, options.recorder);
    const { node, victims, violations } = best;
    metrics.chosen(victims.length, violations);
    const message = `found a potential placement for pod on node ${node.name}, preempting ${victims.length} victims`;
    // Releases before that say nothing of it.
    return { ...(options.release >= "1.37" && { message }), nominatedNode: node.name, done: true };
  }

  /** Tries nodes until there are enough candidates, one at least that violates no budget. */
  function dryRun(
    state: CycleState,
    pod: Pod,
    nodes: readonly NodeInfo[],
  ): { readonly candidates: readonly Candidate[]; readonly reasons: readonly string[] } {
    const offset = Math.floor(options.random() * nodes.length);
    const share = Math.floor((nodes.length * args.minCandidateNodesPercentage) / 100);
    const wanted = Math.min(Math.max(share, args.minCandidateNodesAbsolute), nodes.length);
    const budgets = nodes.length === 0 ? [] : options.budgets();
    const harmless: Candidate[] = [];
    const violating: Candidate[] = [];
    const reasons: string[] = [];
    for (let i = 0; i < nodes.length; i++) {
      if (harmless.length > 0 && harmless.length + violating.length >= wanted) break;
      const found = onNode(state, pod, nodes[(offset + i) % nodes.length]!, budgets);
      if ("reasons" in found) for (const reason of found.reasons) reasons.push(reason);
      else (found.violations === 0 ? harmless : violating).push(found);
    }
    return { candidates: [...harmless, ...violating], reasons };
  }

  /** Selectors evaluated so far are remembered, so that each turn brings the search forward. */
  function onNode(
    state: CycleState,
    pod: Pod,
    node: NodeInfo,
    budgets: readonly PodDisruptionBudget[],
  ): Candidate | Rejection {
    for (;;) {
      turn.begin();
      try {
        return selectVictims(options.trials(), state, pod, node, budgets, now());
      } catch (error) {
        if (!(error instanceof TurnIsOver)) throw error;
      }
    }
  }

  return {
    name,
    preEnqueue: (pod) =>
      executor.isPreempting(pod.metadata.uid)
        ? "waiting for the preemption for this pod to be finished"
        : undefined,
    postFilter(state, pod, rejections) {
      const since = metrics.now();
      const finish = ({ message, ...result }: PostFilterResult): PostFilterResult => {
        metrics.preempting(result.done ? "Success" : "Unschedulable", since);
        return { ...result, ...(message !== undefined && { message: `preemption: ${message}` }) };
      };
      const result = preempt(state, pod, rejections);
      return result instanceof Promise ? result.then(finish) : finish(result);
    },
    // What the other plugins wait for is what preemption brings about.
    mayHelp: () => false,
  };
}

/** Why the pod must not make others leave; undefined: it may. */
function ineligible(
  pod: Pod,
  rejections: ReadonlyMap<string, Rejection>,
  { node, nomination }: Pick<DefaultPreemptionOptions, "node" | "nomination">,
): string | undefined {
  if (pod.spec.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const nominated = nomination(pod);
  if (!nominated || rejections.get(nominated)?.resolvable !== true) return undefined;
  for (const other of node(nominated)?.pods.values() ?? []) {
    if (priorityOf(other) < priorityOf(pod) && terminatesByPreemption(other))
      return "not eligible due to a terminating pod on the nominated node.";
  }
  return undefined;
}

function terminatesByPreemption({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  const condition = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  return condition?.status === "True" && condition.reason === "PreemptionByScheduler";
}
