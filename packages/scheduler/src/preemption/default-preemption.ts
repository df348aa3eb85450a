import type { Pod } from "@dray/api/core/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import { orRejected } from "../cycle/unreadable-nodes.ts";
import type { Candidate } from "../framework/candidate.ts";
import { counted } from "../framework/diagnosis.ts";
import type {
  CycleState,
  Plugin,
  PostFilterResult,
  RefusedGroup,
  Rejection,
} from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import { priorityOf } from "../framework/priority.ts";
import { leastDisruptive } from "./choose.ts";
import { podPreemptor } from "./executor.ts";
import { preemptForGroup } from "./group-preemption.ts";
import type { DefaultPreemptionOptions } from "./options.ts";
import { groupUnits, singleUnits, terminatesByPreemption, type UnitsOf } from "./units.ts";
import { selectVictims } from "./victims.ts";

const name = "DefaultPreemption";

/**
 * Makes room for a pod that fits nowhere by evicting pods of lower priority. Devices are not preempted: their
 * plugin rejects nodes as unresolvable. Upstream: plugins/defaultpreemption/default_preemption.go.
 */
export function defaultPreemption(options: DefaultPreemptionOptions): Plugin {
  const { args, executor, budget, metrics, now, cache, groups } = options;
  const unitsOf: UnitsOf = groups === undefined ? singleUnits : groupUnits(groups);

  function preempt(
    state: CycleState,
    pod: Pod,
    rejections: ReadonlyMap<string, Rejection>,
  ): PostFilterResult | Promise<PostFilterResult> {
    const obstacle = ineligible(pod, rejections, options);
    if (obstacle !== undefined) return { message: obstacle };
    const potential = [...rejections].flatMap(([node, { resolvable }]) => {
      const info = resolvable ? cache.node(node) : undefined;
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
    const { node, victims, violations } = best;
    executor.start(podPreemptor(pod), { place: node.name, victims }, options.recorder);
    metrics.chosen("pod", victims.length, violations, 0);
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

  function onNode(
    state: CycleState,
    pod: Pod,
    node: NodeInfo,
    budgets: readonly PodDisruptionBudget[],
  ): Candidate | Rejection {
    const surroundings = { units: unitsOf([node]), budgets, now: now() };
    return orRejected(name, () =>
      budget.repeat(() => selectVictims(options.trials(), { state, pod }, node, surroundings)),
    );
  }

  return {
    name,
    preEnqueue(pod) {
      const group = groups?.ancestryOf(pod)?.outermost;
      const { uid } = (group ?? pod).metadata;
      if (!executor.isPreempting(uid)) return undefined;
      return `waiting for the preemption for this pod${group ? " group" : ""} to be finished`;
    },
    postFilter(state, pod, rejections) {
      const since = metrics.now();
      const finish = ({ message, ...result }: PostFilterResult): PostFilterResult => {
        metrics.preempting("pod", result.done ? "Success" : "Unschedulable", since);
        return { ...result, ...(message !== undefined && { message: `preemption: ${message}` }) };
      };
      const result = preempt(state, pod, rejections);
      return result instanceof Promise ? result.then(finish) : finish(result);
    },
    ...(groups && {
      postFilterGroup: (refused: RefusedGroup) => preemptForGroup(refused, { ...options, groups, unitsOf }),
    }),
    // Preemption itself causes the events that the other plugins wait for.
    mayHelp: () => false,
  };
}

/** Returns why the pod must not make others leave; undefined: it may. */
function ineligible(
  pod: Pod,
  rejections: ReadonlyMap<string, Rejection>,
  { cache, nomination, groups }: Pick<DefaultPreemptionOptions, "cache" | "nomination" | "groups">,
): string | undefined {
  if (pod.spec.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const nominated = nomination(pod);
  if (!nominated || rejections.get(nominated)?.resolvable !== true) return undefined;
  for (const other of cache.node(nominated)?.pods.values() ?? []) {
    const priority = groups?.priorityOf(other) ?? priorityOf(other);
    if (priority < priorityOf(pod) && terminatesByPreemption(other))
      return "not eligible due to a terminating pod on the nominated node.";
  }
  return undefined;
}
