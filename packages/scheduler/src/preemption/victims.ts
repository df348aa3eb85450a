import type { Pod } from "@dray/api/core/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import type { SchedulingCycle } from "../cycle/scheduling-cycle.ts";
import type { Candidate } from "../framework/candidate.ts";
import { type CycleState, cloneState, type Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import { priorityOf } from "../framework/priority.ts";
import { byBudgets } from "./budgets.ts";
import { byImportance, type VictimUnit } from "./units.ts";

export type Trials = Pick<
  SchedulingCycle,
  "addPod" | "removePod" | "countPod" | "discountPod" | "firstRejection"
>;

export interface VictimRules {
  /** The units of the node's pods. */
  readonly units: readonly VictimUnit[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly now: number;
}

/**
 * The fewest and least important pods of lower priority without which the pod fits on the node. The node is
 * left as it was found. A pod of a unit on another node leaves only what plugins have counted: that node is
 * not asked.
 * Upstream: plugins/defaultpreemption/default_preemption.go, SelectVictimsOnNode.
 */
export function selectVictims(
  trials: Trials,
  { state: cycleState, pod }: { readonly state: CycleState; readonly pod: Pod },
  node: NodeInfo,
  { units, budgets, now }: VictimRules,
): Candidate | Rejection {
  const state = cloneState(cycleState);
  const before = [...node.pods.values()];
  const potential = units.filter(({ priority }) => priority < priorityOf(pod));
  if (potential.length === 0) return rejection("No preemption victims found for incoming pod");
  potential.sort((a, b) => byImportance(a, b, now));
  const remove = ({ pods }: VictimUnit): void => {
    for (const victim of pods)
      if (victim.node === node) trials.removePod(state, pod, victim.pod, node);
      else trials.discountPod(state, pod, victim.pod, victim.node);
  };
  const add = ({ pods }: VictimUnit): void => {
    for (const victim of pods)
      if (victim.node === node) trials.addPod(state, pod, victim.pod, node);
      else trials.countPod(state, pod, victim.pod, victim.node);
  };
  try {
    for (const unit of potential) remove(unit);
    const rejected = trials.firstRejection(state, pod, node);
    if (rejected !== undefined) return rejected;
    const { violating, others } = byBudgets(potential, budgets);
    const leaving: VictimUnit[] = [];
    /** Reports whether the pod fits beside the unit, which then stays. */
    const reprieve = (unit: VictimUnit): boolean => {
      add(unit);
      if (trials.firstRejection(state, pod, node) === undefined) return true;
      remove(unit);
      leaving.push(unit);
      return false;
    };
    let violations = 0;
    for (const each of violating) if (!reprieve(each.unit)) violations += each.violations;
    for (const unit of others) reprieve(unit);
    leaving.sort((a, b) => byImportance(a, b, now));
    const victims = leaving.flatMap((unit) => unit.pods.map((victim) => victim.pod));
    if (victims.length === 0) throw new Error(`expected at least one victim pod on node "${node.name}"`);
    return { node, victims, violations };
  } finally {
    for (const other of before) if (!node.pods.has(other.metadata.uid)) node.add(other);
  }
}

function rejection(reason: string): Rejection {
  return { plugin: "DefaultPreemption", reasons: [reason], resolvable: false };
}
