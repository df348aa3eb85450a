import type { Pod } from "@dray/api/core/v1";
import type { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";

/** A group of pods, or a group of such groups, that is scheduled as one (KEP-4671, KEP-6012). */
export type GroupNode =
  | {
      readonly type: "podgroup";
      readonly object: PodGroup;
      /** Its pods that wait, in the order in which they are tried. */
      readonly pods: readonly Pod[];
    }
  | {
      readonly type: "compositepodgroup";
      readonly object: CompositePodGroup;
      readonly children: readonly GroupNode[];
    };

export type LeafGroup = GroupNode & { readonly type: "podgroup" };

/** The groups of pods, from the first to the last. */
export function leavesOf(node: GroupNode): readonly LeafGroup[] {
  return node.type === "podgroup" ? [node] : node.children.flatMap(leavesOf);
}

/** All pods that wait. */
export function podsOf(node: GroupNode): readonly Pod[] {
  return leavesOf(node).flatMap(({ pods }) => pods);
}

export const groupPriority = ({ object }: GroupNode): number => object.spec.priority ?? 0;

/** The label of nodes whose value has to be the same for all pods. The API allows one. */
export const topologyKeyOf = ({ object }: GroupNode): string | undefined =>
  object.spec.schedulingConstraints?.topology?.[0]?.key;
