import { diagnosisText } from "../framework/diagnosis.ts";
import { type GroupNode, type LeafGroup, leavesOf } from "../framework/group-tree.ts";
import { anyEvent } from "../queue/queued-pod.ts";
import { type GroupResult, type GroupVerdict, groupIsUnschedulable, type MemberResult } from "./placement.ts";

/** Result for a group of pods. */
export interface LeafOutcome {
  readonly leaf: LeafGroup;
  readonly verdict: GroupVerdict;
  /** By uid; a pod without a result was not tried. */
  readonly members: ReadonlyMap<string, MemberResult>;
  /** The pod whose attempt has failed; the others fail for that reason. */
  readonly failed: GroupResult["failed"];
}

/**
 * A group in one that has not its minimum does not have it either.
 * Upstream: completeCompositePodGroupAlgorithmResultMap.
 */
export function outcomesOf(
  group: GroupNode,
  result: GroupResult | undefined,
  parent: GroupVerdict = { type: "met" },
): LeafOutcome[] {
  const isOwn = result !== undefined && (parent.type === "met" || result.verdict.type !== "met");
  const verdict = isOwn ? result.verdict : parent;
  if (group.type === "compositepodgroup") {
    const known = new Map(result?.children.map((child) => [child.group, child]));
    return group.children.flatMap((child) => outcomesOf(child, known.get(child), verdict));
  }
  const members = isOwn ? result.members : [];
  return [
    {
      leaf: group,
      verdict,
      members: new Map(members.map((member) => [member.pod.metadata.uid, member])),
      failed: isOwn ? result.failed : undefined,
    },
  ];
}

export function allFailed(root: GroupNode, message: string): LeafOutcome[] {
  return outcomesOf(root, undefined, { type: "failed", message });
}

/** Reasons and nominations that PostFilter adds to the verdict of a rejected group. */
export interface PostFilterOutcome {
  /** Messages of plugins. */
  readonly reasons: readonly string[];
  /** The node of each pod, by uid, once others have left; undefined: no pods leave for the group. */
  readonly nominated: ReadonlyMap<string, string> | undefined;
}

export const noPostFilter: PostFilterOutcome = { reasons: [], nominated: undefined };

/** Why a pod has no node, for its condition. */
export interface PodRefusal {
  readonly message: string;
  /** "" clears an earlier nomination, undefined leaves it as it is. */
  readonly nominatedNode: string | undefined;
}

/** Returns the refusal of a pod whose group lacks its minimum. Upstream: submitPodGroupAlgorithmResult. */
export function refusalOf(
  uid: string,
  member: MemberResult | undefined,
  reason: string,
  { reasons, nominated }: PostFilterOutcome,
): PodRefusal {
  const node = nominated?.get(uid);
  if (member?.type === "refused")
    return { message: diagnosisText(member.diagnosis, []), nominatedNode: node ?? member.nominatedNode };
  if (member === undefined) return { message: reason, nominatedNode: node };
  const text = [reason, ...reasons].join(", ");
  return nominated === undefined
    ? { message: `${groupIsUnschedulable}, ${text}`, nominatedNode: "" }
    : { message: text, nominatedNode: node };
}

/**
 * Plugins whose events wake a group: those that rejected one of its pods, or all if a pod was not rejected
 * itself.
 */
export function rejectedBy(root: GroupNode, outcomes: readonly LeafOutcome[]): readonly string[] {
  const plugins = new Set<string>();
  let refused = 0;
  for (const { members } of outcomes)
    for (const member of members.values())
      if (member.type === "refused") {
        refused++;
        for (const plugin of member.plugins) plugins.add(plugin);
      }
  const all = leavesOf(root).reduce((sum, { pods }) => sum + pods.length, 0);
  return [...plugins, ...(refused < all ? [anyEvent] : [])];
}
