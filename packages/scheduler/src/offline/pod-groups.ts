import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { Decision } from "../cycle/scheduling-cycle.ts";
import { type Diagnosis, diagnosisText } from "../framework/diagnosis.ts";
import type { CycleState, GroupTrial } from "../framework/framework.ts";
import type { GroupNode } from "../framework/group-tree.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { PodGroups } from "../podgroup/pod-groups.ts";
import { groupProblem } from "../podgroup/validity.ts";
import { type LeafOutcome, noPostFilter, outcomesOf, refusalOf } from "../podgroup-cycle/outcomes.ts";
import {
  GroupPlacer,
  type GroupResult,
  groupIsUnschedulable,
  type MemberResult,
  type Reserving,
} from "../podgroup-cycle/placement.ts";
import type { ProfileOf } from "./profiles.ts";
import type { OfflineScheduler, Placement } from "./types.ts";

export interface OfflineGroupsOptions {
  readonly groups: PodGroups;
  readonly reserving: Reserving;
  readonly profileOf: ProfileOf;
  readonly features: Features;
  readonly nodes: () => readonly NodeInfo[];
  /** Why the pod is not tried. */
  readonly gateOf: (pod: Pod) => string | undefined;
  readonly settle: (pod: Pod, decision: Decision & { type: "placed" }) => Promise<Placement>;
  /** Returns a function that reports whether a claim has released its devices since. */
  readonly freed: () => () => boolean;
}

type Refused = Placement & { readonly type: "refused" };

export function refusedPlacement(diagnosis: Diagnosis): Refused {
  return {
    type: "refused",
    message: diagnosisText(diagnosis, []),
    rejections: diagnosis.rejections,
    ...(diagnosis.upfront && { upfront: diagnosis.upfront }),
  };
}

/** Groups of pods without a cluster. Nothing is preempted. */
export function offlineGroups(options: OfflineGroupsOptions): OfflineScheduler["scheduleGroup"] {
  const { groups, reserving, profileOf, features, nodes, gateOf, settle, freed } = options;
  const placer = new GroupPlacer({
    groups,
    bindings: reserving,
    nominator: { nodeOf: () => undefined, set: () => {} },
    hasTopology: features.enabled("TopologyAwareWorkloadScheduling"),
    random: () => 0,
  });

  /** A claim that gives its devices back is worth another try. */
  async function place(root: GroupNode, pods: readonly Pod[]): Promise<GroupResult> {
    // A group has the profile of its pods.
    const profile = profileOf(pods[0]!);
    for (;;) {
      const state: CycleState = new Map();
      const result = placer.place({ profile, state }, root, nodes());
      if (result.verdict.type !== "refused") return result;
      const isFreed = freed();
      const tryAgain = (): GroupTrial => placer.try({ profile, state: new Map() }, root, nodes());
      const refused = { group: root, pods, state, tryAgain };
      for (const plugin of profile.points.podGroupPostFilter) await plugin.postFilterGroup(refused);
      if (!isFreed()) return result;
    }
  }

  /**
   * Calls `refused` for each pod that no node takes, while the pods before it hold their nodes and devices.
   */
  function explain(outcomes: readonly LeafOutcome[], refused: (pod: Pod, placement: Refused) => void): void {
    const taken: (MemberResult & { type: "placed" })[] = [];
    try {
      for (const { members } of outcomes)
        for (const member of members.values())
          if (member.type === "placed") {
            taken.push(member);
            member.take();
          } else refused(member.pod, refusedPlacement(member.diagnosis));
    } finally {
      for (const member of taken.reverse()) member.undo();
    }
  }

  async function placementOf(pod: Pod, { verdict, members, failed }: LeafOutcome): Promise<Placement> {
    const member = members.get(pod.metadata.uid);
    if (verdict.type === "failed")
      return { type: "error", message: failed?.pod === pod ? failed.message : verdict.message };
    if (member?.type === "refused") return refusedPlacement(member.diagnosis);
    if (verdict.type === "met" && member !== undefined) return settle(pod, member.decision);
    const reason = verdict.type === "met" ? groupIsUnschedulable : verdict.message;
    const { message } = refusalOf(pod.metadata.uid, member, reason, noPostFilter);
    return { type: "held", message };
  }

  return async (pods, refused = () => {}) => {
    const gates = pods.map(gateOf);
    const first = gates.findIndex((gate) => gate !== undefined);
    const root = groups.rootOf(pods[0]!);
    if (first >= 0 || root === undefined) {
      const whose = pods[first]?.metadata;
      const forAll = `waits with its group: pod ${whose?.namespace}/${whose?.name}: ${gates[first]}`;
      return gates.map((gate) => ({ type: "gated", message: gate ?? forAll }));
    }
    const whole = groups.withPods(root, pods);
    const problem = groupProblem(whole, groups, features.enabled("PodGroupPreemptionPolicy"));
    if (problem !== undefined) return pods.map(() => ({ type: "error", message: problem }));
    const result = await place(whole, pods);
    const outcomes = outcomesOf(whole, result);
    if (result.verdict.type === "met") placer.undo({ held: [...result.held] });
    explain(outcomes, refused);
    for (const member of result.held) member.take();
    const ofPod = new Map(
      outcomes.flatMap((outcome) => outcome.leaf.pods.map((pod) => [pod.metadata.uid, outcome] as const)),
    );
    const placements: Placement[] = [];
    // The pods are those of one tree: each is in a leaf of it.
    for (const pod of pods) placements.push(await placementOf(pod, ofPod.get(pod.metadata.uid)!));
    return placements;
  };
}
