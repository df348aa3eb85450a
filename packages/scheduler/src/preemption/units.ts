import type { Pod } from "@dray/api/core/v1";
import type { NodeInfo } from "../framework/node-info.ts";
import { priorityOf } from "../framework/priority.ts";
import { isLeaf } from "../podgroup/hierarchy.ts";
import { groupNameOf, type PodGroups } from "../podgroup/pod-groups.ts";

export interface PlacedPod {
  readonly pod: Pod;
  readonly node: NodeInfo;
}

/**
 * Pods that stay or leave together: one, or all of the outermost group whose disruption mode is `all`.
 * Upstream: framework/preemption/types.go, Victim.
 */
export interface VictimUnit {
  readonly pods: readonly PlacedPod[];
  /** That of the outermost group. */
  readonly priority: number;
  /** Of units with equal priority, the one with the higher rank is more important. */
  readonly rank: number;
}

/** Upstream: framework/preemption/util.go, victimRank. */
export const ranks = { pod: 1, podgroup: 2, compositepodgroup: 3 } as const;

/** The units to which the pods of some nodes belong, with their pods on other nodes. */
export type UnitsOf = (nodes: Iterable<NodeInfo>) => VictimUnit[];

/** Every pod is a unit of its own. */
export const singleUnits: UnitsOf = (nodes) =>
  [...podsOn(nodes)].map((placed) => ({
    pods: [placed],
    priority: priorityOf(placed.pod),
    rank: ranks.pod,
  }));

/**
 * Units by the groups of the pods.
 * Upstream: framework/preemption/types.go, getCrossNodesVictims.
 */
export function groupUnits(groups: PodGroups): UnitsOf {
  return (nodes) => {
    const units: VictimUnit[] = [];
    const seen = new Set<string>();
    for (const placed of podsOn(nodes)) {
      const { pod } = placed;
      const whole = groups
        .ancestryOf(pod)
        ?.groups.findLast(({ spec }) => spec.disruptionMode?.all !== undefined);
      const priority = groups.priorityOf(pod);
      if (whole === undefined) {
        const isGroup = groupNameOf(pod) !== undefined;
        units.push({ pods: [placed], priority, rank: isGroup ? ranks.podgroup : ranks.pod });
        continue;
      }
      if (seen.has(whole.metadata.uid)) continue;
      seen.add(whole.metadata.uid);
      const pods = groups.placedIn(whole).flatMap((member) => {
        const node = groups.nodeOf(member.metadata.uid);
        return node === undefined ? [] : [{ pod: member, node }];
      });
      units.push({ pods, priority, rank: isLeaf(whole) ? ranks.podgroup : ranks.compositepodgroup });
    }
    return units;
  };
}

function* podsOn(nodes: Iterable<NodeInfo>): Generator<PlacedPod> {
  for (const node of nodes) for (const pod of node.pods.values()) yield { pod, node };
}

/** Milliseconds since the epoch; a pod that has not started counts as starting now. */
export function startTime(pod: Pod, now: number): number {
  const started = pod.status?.startTime;
  return started === undefined ? now : Date.parse(started);
}

/**
 * The higher priority first; then a group before a pod, a group of groups before both, the larger one, the
 * one that started first.
 * Upstream: framework/preemption/util.go, MoreImportantVictim.
 */
export function byImportance(a: VictimUnit, b: VictimUnit, now: number): number {
  return (
    b.priority - a.priority ||
    b.rank - a.rank ||
    b.pods.length - a.pods.length ||
    earliestStart(a, now) - earliestStart(b, now)
  );
}

function earliestStart({ pods }: VictimUnit, now: number): number {
  return pods.reduce((first, { pod }) => Math.min(first, startTime(pod, now)), Number.POSITIVE_INFINITY);
}

/** Upstream: framework/preemption/util.go, PodTerminatingByPreemption. */
export function terminatesByPreemption({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  const condition = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  return condition?.status === "True" && condition.reason === "PreemptionByScheduler";
}
