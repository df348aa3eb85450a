import { labelSelectorOf, SelectorError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import { priorityOf, type SchedulingCycle } from "../cycle.ts";
import { type CycleState, cloneState, type Rejection } from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";

/** What must leave a node so that a pod can come. */
export interface Candidate {
  readonly node: NodeInfo;
  /** The most important one first. */
  readonly victims: readonly Pod[];
  /** How many of them a PodDisruptionBudget protects. */
  readonly violations: number;
}

export type Trials = Pick<SchedulingCycle, "addPod" | "removePod" | "firstRejection">;

/**
 * The fewest and least important pods of lower priority without which the pod fits on the node. The node is left as it
 * was found. Upstream: plugins/defaultpreemption/default_preemption.go, SelectVictimsOnNode.
 */
export function selectVictims(
  trials: Trials,
  cycleState: CycleState,
  pod: Pod,
  node: NodeInfo,
  budgets: readonly PodDisruptionBudget[],
  now: number,
): Candidate | Rejection {
  const state = cloneState(cycleState);
  const before = [...node.pods.values()];
  const potential = before.filter((other) => priorityOf(other) < priorityOf(pod));
  if (potential.length === 0) return rejection("No preemption victims found for incoming pod");
  potential.sort((a, b) => byImportance(a, b, now));
  try {
    for (const victim of potential) trials.removePod(state, pod, victim, node);
    const rejected = trials.firstRejection(state, pod, node);
    if (rejected !== undefined) return rejected;
    const { violating, others } = byBudgets(potential, budgets);
    const victims: Pod[] = [];
    /** Whether the pod fits beside the victim, which then stays. */
    const reprieve = (victim: Pod): boolean => {
      trials.addPod(state, pod, victim, node);
      if (trials.firstRejection(state, pod, node) === undefined) return true;
      trials.removePod(state, pod, victim, node);
      victims.push(victim);
      return false;
    };
    let violations = 0;
    for (const victim of violating) if (!reprieve(victim)) violations++;
    for (const victim of others) reprieve(victim);
    victims.sort((a, b) => byImportance(a, b, now));
    if (victims.length === 0) throw new Error(`expected at least one victim pod on node "${node.name}"`);
    return { node, victims, violations };
  } finally {
    for (const other of before) if (!node.pods.has(other.metadata.uid)) node.add(other);
  }
}

function rejection(reason: string): Rejection {
  return { plugin: "DefaultPreemption", reasons: [reason], resolvable: false };
}

/** Milliseconds since the epoch; a pod that has not started counts as starting now. */
export function startTime(pod: Pod, now: number): number {
  const started = pod.status?.startTime;
  return started === undefined ? now : Date.parse(started);
}

/** The higher priority first, then the older pod. Upstream: framework/preemption/util.go, MoreImportantVictim. */
function byImportance(a: Pod, b: Pod, now: number): number {
  return priorityOf(b) - priorityOf(a) || startTime(a, now) - startTime(b, now);
}

/**
 * The pods of which a budget would be overdrawn if they and those before them were evicted, and the others.
 * Upstream: framework/preemption/util.go, FilterVictimsWithPDBViolation.
 */
function byBudgets(
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
): { readonly violating: readonly Pod[]; readonly others: readonly Pod[] } {
  const limits = budgets.flatMap((budget) => {
    const matches = matcherOf(budget);
    return matches === undefined ? [] : [{ budget, matches, left: budget.status?.disruptionsAllowed ?? 0 }];
  });
  const violating: Pod[] = [];
  const others: Pod[] = [];
  for (const pod of pods) {
    const exceeded = limits.find((limit) => {
      // One that the API server has let go already has been counted.
      const disrupted = Object.hasOwn(limit.budget.status?.disruptedPods ?? {}, pod.metadata.name);
      if (disrupted || !limit.matches(pod)) return false;
      limit.left--;
      return limit.left < 0;
    });
    (exceeded === undefined ? others : violating).push(pod);
  }
  return { violating, others };
}

/** A budget with an empty or a malformed selector protects nothing here. */
function matcherOf({ metadata, spec }: PodDisruptionBudget): ((pod: Pod) => boolean) | undefined {
  const selector = spec?.selector;
  const requirements =
    Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length;
  if (requirements === 0) return undefined;
  try {
    const selection = labelSelectorOf(selector);
    return (pod) =>
      pod.metadata.namespace === metadata.namespace &&
      Object.keys(pod.metadata.labels ?? {}).length > 0 &&
      selection.matches(pod.metadata.labels);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
