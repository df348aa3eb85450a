import type { Pod } from "@dray/api/core/v1";
import type { Profile } from "../cycle/profile.ts";
import type { Decision } from "../cycle/scheduling-cycle.ts";
import type { Diagnosis } from "../framework/diagnosis.ts";
import { BudgetExceeded } from "../framework/evaluation-budget.ts";
import {
  type Assignment,
  type CycleState,
  type GroupPlacement,
  type GroupTrial,
  type Rejection,
  stateInGroup,
} from "../framework/framework.ts";
import type { GroupNode, LeafGroup } from "../framework/group-tree.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { PodGroups } from "../podgroup/pod-groups.ts";
import type { Nominator } from "../queue/nominator.ts";
import type { QueuedPod } from "../queue/queued-pod.ts";

/**
 * First words of every rejection by a group itself. Upstream: schedule_one_podgroup.go,
 * errPodGroupUnschedulable.
 */
export const groupIsUnschedulable = "pod group is unschedulable";

export interface GroupPlacerOptions {
  readonly groups: PodGroups;
  readonly bindings: Reserving;
  readonly nominator: Pick<Nominator, "nodeOf" | "set">;
  /** Whether groups have constraints of topology (gate TopologyAwareWorkloadScheduling). */
  readonly hasTopology: boolean;
  /** Between 0 and 1: breaks ties between equally good placements. */
  readonly random: () => number;
}

/** Reserves and releases at once. */
export interface Reserving {
  /** Counts the pod on its node, with what plugins reserve for it; a rejection by one of them. */
  take(profile: RunProfile, entry: WaitingPod, placed: Placed): Rejection | undefined;
  undo(profile: RunProfile, pod: Pod, node: NodeInfo, state: CycleState): void;
}

type RunProfile = Pick<Profile, "points" | "cycle" | "name">;
type WaitingPod = Pick<QueuedPod, "pod">;
type Placed = Decision & { type: "placed" };

/** One try to place a whole group. */
export interface GroupRun {
  readonly profile: RunProfile;
  /** State that plugins share between the pods. */
  readonly state: CycleState;
}

export type PlacedMember = Assignment & {
  readonly type: "placed";
  readonly decision: Placed;
};

/** Result for one pod. */
export type MemberResult =
  | PlacedMember
  | {
      readonly type: "refused";
      readonly pod: Pod;
      readonly diagnosis: Diagnosis;
      readonly plugins: readonly string[];
      /** "" clears an earlier nomination. */
      readonly nominatedNode?: "";
    };

/** Whether the group has its minimum. `failed`: the attempt failed, whatever the nodes have. */
export type GroupVerdict =
  | { readonly type: "met" }
  | { readonly type: "refused"; readonly message: string }
  | { readonly type: "failed"; readonly message: string };

export interface GroupResult {
  readonly group: GroupNode;
  readonly verdict: GroupVerdict;
  /** Results of the group's own pods, up to the last that was tried; subgroups have their own. */
  readonly members: readonly MemberResult[];
  readonly children: readonly GroupResult[];
  /** The pod that failed, and its message: the others fail for that reason. */
  readonly failed?: { readonly pod: Pod; readonly message: string };
  /** Reserved pods in order; empty unless the minimum is met. */
  readonly held: PlacedMember[];
}

/**
 * Finds nodes for all pods of a group, against the same state of the cluster, and reserves them; where the
 * minimum is not met nothing stays reserved. Synchronous. Throws BudgetExceeded when the turn is over, and
 * everything is as it was.
 * Upstream: pkg/scheduler/schedule_one_podgroup.go
 */
export class GroupPlacer {
  readonly #options: GroupPlacerOptions;

  constructor(options: GroupPlacerOptions) {
    this.#options = options;
  }

  /** Upstream: runRootSchedulingAlgorithm. */
  place(run: GroupRun, root: GroupNode, nodes: readonly NodeInfo[]): GroupResult {
    const result = this.#place(run, root, nodes);
    if (result.verdict.type === "met" && result.held.length === 0)
      return { ...result, verdict: { type: "refused", message: groupIsUnschedulable } };
    return result;
  }

  /** The same, and leaves nothing reserved. */
  try(run: GroupRun, root: GroupNode, nodes: readonly NodeInfo[]): GroupTrial {
    const { verdict, held } = this.place(run, root, nodes);
    const assignments = [...held];
    this.undo({ held });
    return verdict.type === "met" ? { type: "placed", assignments } : verdict;
  }

  /** Takes back what is reserved: what came later may count on what came before. */
  undo({ held }: Pick<GroupResult, "held">): void {
    for (let last = held.pop(); last !== undefined; last = held.pop()) last.undo();
  }

  #place(run: GroupRun, group: GroupNode, nodes: readonly NodeInfo[]): GroupResult {
    return this.#options.hasTopology ? this.#placeBest(run, group, nodes) : this.#placeOn(run, group, nodes);
  }

  /** Upstream: podGroupSchedulingPlacementAlgorithm, compositePodGroupSchedulingPlacementAlgorithm. */
  #placeBest(run: GroupRun, group: GroupNode, nodes: readonly NodeInfo[]): GroupResult {
    const { points } = run.profile;
    let placements: readonly GroupPlacement[];
    try {
      placements = points.placementGenerate[0]?.placements(group, { name: "", nodes }) ?? [
        { name: "", nodes },
      ];
    } catch (error) {
      return withoutMembers(group, { type: "failed", message: (error as Error).message });
    }
    if (placements.length === 0)
      return withoutMembers(group, { type: "refused", message: "no feasible placements found" });
    let refused: { readonly result: GroupResult; readonly message: string } | undefined;
    const found = new Map<GroupPlacement, GroupResult>();
    for (const placement of placements) {
      const result = this.#placeOn(run, group, placement.nodes);
      const held = [...result.held];
      this.undo(result);
      const { verdict } = result;
      if (verdict.type === "failed") return result;
      if (verdict.type === "met") found.set(placement, { ...result, held });
      else refused ??= { result, message: verdict.message };
    }
    if (found.size === 0 && refused !== undefined) {
      const { message } = refused;
      const short = message.startsWith(`${groupIsUnschedulable}, `) ? groupIsUnschedulable : message;
      const text = `${groupIsUnschedulable}, 0/${placements.length} placements are available, first placement status: ${short}`;
      return { ...refused.result, verdict: { type: "refused", message: text } };
    }
    try {
      const best = this.#best(run, group, found);
      for (const member of best.held) member.take();
      return best;
    } catch (error) {
      if (error instanceof BudgetExceeded) throw error;
      return withoutMembers(group, { type: "failed", message: (error as Error).message });
    }
  }

  /** Upstream: findBestPlacement, RunPlacementScorePlugins. */
  #best(
    { profile }: GroupRun,
    group: GroupNode,
    found: ReadonlyMap<GroupPlacement, GroupResult>,
  ): GroupResult {
    const totals = new Map<GroupPlacement, number>();
    const totalOf = (placement: GroupPlacement): number => totals.get(placement) ?? 0;
    if (found.size > 1)
      for (const { plugin, weight } of profile.points.placementScore) {
        const scores = new Map(
          [...found].map(([placement, { held }]) => [
            placement,
            plugin.scorePlacement(
              group,
              placement,
              held.map(({ pod }) => pod),
            ),
          ]),
        );
        plugin.normalizePlacements?.(scores);
        for (const [placement, score] of scores) totals.set(placement, totalOf(placement) + score * weight);
      }
    const highest = Math.max(...[...found.keys()].map(totalOf));
    const best = [...found].flatMap(([placement, result]) =>
      totalOf(placement) === highest ? [result] : [],
    );
    return best[Math.floor(this.#options.random() * best.length)] ?? best[0]!;
  }

  #placeOn(run: GroupRun, group: GroupNode, nodes: readonly NodeInfo[]): GroupResult {
    return group.type === "podgroup"
      ? this.#placePods(run, group, nodes)
      : this.#placeGroups(run, group, nodes);
  }

  /** Upstream: compositePodGroupSchedulingDefaultAlgorithm. */
  #placeGroups(
    run: GroupRun,
    group: GroupNode & { type: "compositepodgroup" },
    nodes: readonly NodeInfo[],
  ): GroupResult {
    const minCount = group.object.spec.schedulingPolicy.gang?.minGroupCount ?? 1;
    const children: GroupResult[] = [];
    const held: PlacedMember[] = [];
    let scheduled = 0;
    let remaining = group.children.length;
    let feasibility = feasible(minCount, scheduled, remaining);
    const end = (verdict: GroupVerdict): GroupResult => {
      if (verdict.type !== "met") this.undo({ held });
      return { group, verdict, members: [], children, held };
    };
    try {
      for (const child of group.children) {
        if (feasibility.type === "impossible") break;
        const result = this.#place(run, child, nodes);
        children.push(result);
        for (const member of result.held) held.push(member);
        if (result.verdict.type === "failed") {
          const message = `composite pod group evaluation failed due to child error: ${result.verdict.message}`;
          return end({ type: "failed", message });
        }
        remaining--;
        if (result.verdict.type === "met") scheduled++;
        feasibility = feasible(minCount, scheduled, remaining);
      }
    } catch (error) {
      this.undo({ held });
      throw error;
    }
    return end(verdictOf(feasibility, feasibility.type === "open"));
  }

  /** Upstream: podGroupSchedulingDefaultAlgorithm. */
  #placePods(run: GroupRun, group: LeafGroup, nodes: readonly NodeInfo[]): GroupResult {
    const { groups } = this.#options;
    const minCount = groups.minCount(group.object);
    const members: MemberResult[] = [];
    const held: PlacedMember[] = [];
    let scheduled = groups.placed(group.object).length;
    let remaining = group.pods.length;
    let feasibility = feasible(minCount, scheduled, remaining);
    const end = (verdict: GroupVerdict, failed?: GroupResult["failed"]): GroupResult => {
      if (verdict.type !== "met") this.undo({ held });
      return { group, verdict, members, children: [], held, ...(failed && { failed }) };
    };
    if (feasibility.type === "impossible") return end(verdictOf(feasibility, true));
    for (const pod of group.pods) {
      try {
        const member = this.#placePod(run, pod, nodes);
        members.push(member);
        if (member.type === "placed") held.push(member);
        if (member.type === "placed") scheduled++;
      } catch (error) {
        this.undo({ held });
        if (error instanceof BudgetExceeded) throw error;
        const { message } = error as Error;
        const forAll = `failed to schedule other pod from a pod group: ${message}`;
        return end({ type: "failed", message: forAll }, { pod, message });
      }
      remaining--;
      feasibility = feasible(minCount, scheduled, remaining);
      if (feasibility.type === "impossible") break;
    }
    return end(verdictOf(feasibility, feasibility.type === "open"));
  }

  /** Upstream: podGroupPodSchedulingAlgorithm. */
  #placePod({ profile, state }: GroupRun, pod: Pod, nodes: readonly NodeInfo[]): MemberResult {
    const { bindings, nominator } = this.#options;
    const { uid } = pod.metadata;
    const decision = profile.cycle.decide(pod, nodes, undefined, stateInGroup(state));
    if (decision.type === "refused") {
      const { diagnosis, plugins } = decision;
      return { type: "refused", pod, diagnosis, plugins };
    }
    const nominated = nominator.nodeOf(uid);
    const { node } = decision;
    let rejection: Rejection | undefined;
    const member: PlacedMember = {
      type: "placed",
      pod,
      node,
      state: decision.state,
      decision,
      take() {
        rejection = bindings.take(profile, { pod }, decision);
      },
      undo() {
        bindings.undo(profile, pod, node, decision.state);
        if (nominated !== undefined) nominator.set(pod, nominated);
      },
    };
    try {
      member.take();
    } catch (error) {
      member.undo();
      throw error;
    }
    if (rejection === undefined) return member;
    member.undo();
    const rejections = new Map([[node.name, rejection]]);
    return {
      type: "refused",
      pod,
      diagnosis: { nodes: 1, rejections },
      plugins: [rejection.plugin],
      nominatedNode: "",
    };
  }
}

function withoutMembers(group: GroupNode, verdict: GroupVerdict): GroupResult {
  return { group, verdict, members: [], children: [], held: [] };
}

/** Whether a group has its minimum, may get it, or cannot. */
type Feasibility =
  | { readonly type: "met" }
  | { readonly type: "open" | "impossible"; readonly message: string };

/** Upstream: plugins/gangscheduling, GangScheduling.PlacementFeasible. */
function feasible(minCount: number, scheduled: number, remaining: number): Feasibility {
  const counts = `${scheduled} scheduled, ${remaining} remaining`;
  if (remaining + scheduled < minCount)
    return { type: "impossible", message: `minCount (${minCount}) cannot be satisfied: ${counts}` };
  if (scheduled < minCount)
    return { type: "open", message: `minCount (${minCount}) is not yet satisfied: ${counts}` };
  return { type: "met" };
}

/** `prefixed`: no pod was tried, or the question is still open. */
function verdictOf(feasibility: Feasibility, prefixed: boolean): GroupVerdict {
  if (feasibility.type === "met") return { type: "met" };
  const { message } = feasibility;
  return { type: "refused", message: prefixed ? `${groupIsUnschedulable}, ${message}` : message };
}
