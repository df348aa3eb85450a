import type { Pod } from "@dray/api/core/v1";
import type { Assignment, GroupPostFilterResult, RefusedGroup } from "../framework/framework.ts";
import { groupPriority } from "../framework/group-tree.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { PodGroups } from "../podgroup/pod-groups.ts";
import { byBudgets } from "./budgets.ts";
import type { DefaultPreemptionOptions } from "./options.ts";
import { byImportance, ranks, terminatesByPreemption, type UnitsOf, type VictimUnit } from "./units.ts";
import type { Trials } from "./victims.ts";

export interface GroupPreemptionOptions extends DefaultPreemptionOptions {
  readonly groups: PodGroups;
  readonly unitsOf: UnitsOf;
}

/** The units that are evicted for a group. */
interface Selection {
  readonly units: readonly VictimUnit[];
  readonly violations: number;
  /** By the uid of a pod of the group. */
  readonly nodes: ReadonlyMap<string, string>;
}

/**
 * Makes room for a group of which too few pods fit by evicting pods of lower priority anywhere in the
 * cluster. Devices are not preempted: the claims of the victims stay allocated in the trial, as upstream's
 * do.
 * Upstream: framework/preemption/podgrouppreemption.go, PodGroupEvaluator.Preempt.
 */
export function preemptForGroup(
  refused: RefusedGroup,
  options: GroupPreemptionOptions,
): GroupPostFilterResult {
  const { executor, metrics, recorder } = options;
  const since = metrics.now();
  const finish = (
    status: "Success" | "Unschedulable" | "UnschedulableAndUnresolvable",
    message: string,
    nominatedNodes?: ReadonlyMap<string, string>,
  ): GroupPostFilterResult => {
    metrics.preempting("podgroup", status, since);
    return {
      message: `pod group preemption: ${message}`,
      ...(status === "Success" && { verdict: "done" }),
      ...(status === "UnschedulableAndUnresolvable" && { verdict: "hopeless" }),
      ...(nominatedNodes && { nominatedNodes }),
    };
  };
  const { group, pods } = refused;
  const isNever = options.hasGroupPolicies
    ? group.object.spec.preemptionPolicy === "Never"
    : pods.some(({ spec }) => spec.preemptionPolicy === "Never");
  if (isNever) return finish("Unschedulable", "not eligible due to preemptionPolicy=Never.");
  const nominated = nominationsOf(pods, options);
  if (isOngoing(groupPriority(group), new Set(nominated.values()), options))
    return finish("Success", "ongoing preemption on nominated nodes", nominated);
  const selection = options.budget.repeat(() => select(refused, options));
  if (selection === undefined)
    return finish("UnschedulableAndUnresolvable", "No preemption victims found for incoming preemptor");
  if (typeof selection === "string") return finish("Unschedulable", selection);
  const { units, violations, nodes } = selection;
  const victims = units.flatMap((unit) => unit.pods.map(({ pod }) => pod));
  const preemptor = {
    type: group.type,
    uid: group.object.metadata.uid,
    schedulerName: pods[0]!.spec.schedulerName ?? "",
    priority: groupPriority(group),
    pods,
  };
  executor.start(preemptor, { place: "cluster", victims }, recorder);
  metrics.chosen(group.type, victims.length, violations, units.filter(({ rank }) => rank > ranks.pod).length);
  return finish("Success", `found a placement for podgroup, preempting ${victims.length} victims`, nodes);
}

function nominationsOf(
  pods: readonly Pod[],
  { nomination }: GroupPreemptionOptions,
): ReadonlyMap<string, string> {
  return new Map(
    pods.flatMap((pod) => {
      const node = nomination(pod);
      return node === undefined ? [] : [[pod.metadata.uid, node] as const];
    }),
  );
}

/**
 * Reports whether pods that were preempted for the group are still leaving. Upstream: isOngoingPreemption.
 */
function isOngoing(
  priority: number,
  nodes: ReadonlySet<string>,
  { cache, groups }: GroupPreemptionOptions,
): boolean {
  return [...nodes].some((name) =>
    [...(cache.node(name)?.pods.values() ?? [])].some(
      (pod) => groups.priorityOf(pod) < priority && terminatesByPreemption(pod),
    ),
  );
}

/**
 * The fewest and least important units of lower priority without which the group fits; a text: why it does
 * not even without all of them; undefined without any. The nodes are left as they were found.
 * Upstream: selectVictimsOnDomain.
 */
function select(
  { group, tryAgain }: RefusedGroup,
  { cache, unitsOf, budgets, trials, now }: GroupPreemptionOptions,
): Selection | string | undefined {
  const priority = groupPriority(group);
  const potential = unitsOf(cache.nodes).filter((unit) => unit.priority < priority);
  if (potential.length === 0) return undefined;
  const time = now();
  potential.sort((a, b) => byImportance(a, b, time));
  const before = [...new Set(potential.flatMap(({ pods }) => pods.map(({ node }) => node)))].map(
    (node) => [node, [...node.pods.values()]] as const,
  );
  try {
    for (const { pods } of potential) for (const { pod, node } of pods) node.remove(pod.metadata.uid);
    const trial = tryAgain();
    if (trial.type === "failed") throw new Error(trial.message);
    if (trial.type !== "placed") return trial.message;
    const { assignments } = trial;
    const { violating, others } = byBudgets(potential, budgets());
    const leaving: VictimUnit[] = [];
    let violations = 0;
    for (const each of violating) {
      if (reprieve(each.unit, assignments, trials())) continue;
      leaving.push(each.unit);
      violations += each.violations;
    }
    for (const unit of others) if (!reprieve(unit, assignments, trials())) leaving.push(unit);
    leaving.sort((a, b) => byImportance(a, b, time));
    const nodes = new Map(assignments.map(({ pod, node }) => [pod.metadata.uid, node.name]));
    return { units: leaving, violations, nodes };
  } finally {
    for (const [node, pods] of before) restore(node, pods);
  }
}

function restore(node: NodeInfo, pods: readonly Pod[]): void {
  for (const pod of pods) if (!node.pods.has(pod.metadata.uid)) node.add(pod);
}

/** Reports whether all pods of the group fit on their nodes beside the unit, which then stays. */
function reprieve(unit: VictimUnit, assignments: readonly Assignment[], trials: Trials): boolean {
  for (const { pod: victim, node } of unit.pods)
    for (const { state, pod } of assignments) trials.addPod(state, pod, victim, node);
  if (fit(assignments, trials)) return true;
  for (const { pod: victim, node } of unit.pods)
    for (const { state, pod } of assignments) trials.removePod(state, pod, victim, node);
  return false;
}

/** Each pod beside those before it, with which its state was made. */
function fit(assignments: readonly Assignment[], trials: Trials): boolean {
  const taken: Assignment[] = [];
  try {
    return assignments.every((assignment) => {
      const { state, pod, node } = assignment;
      if (trials.firstRejection(state, pod, node) !== undefined) return false;
      taken.push(assignment);
      assignment.take();
      return true;
    });
  } finally {
    for (const assignment of taken.reverse()) assignment.undo();
  }
}
