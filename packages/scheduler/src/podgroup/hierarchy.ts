import type { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { GroupNode } from "../framework/group-tree.ts";

/** Maximum number of levels, the group of the pods included (WorkloadMaxTreeDepth). */
const maxDepth = 4;

/** Looks groups of groups up. */
export interface CompositeLookup {
  readonly composite: (namespace: string, name: string) => CompositePodGroup | undefined;
  /** The groups whose parent it is. */
  readonly groupsIn: (namespace: string, name: string) => readonly PodGroup[];
  readonly compositesIn: (namespace: string, name: string) => readonly CompositePodGroup[];
}

/** A group with those around it, from the inside to the outside; `missing`: one that does not exist. */
export interface Ancestry {
  readonly groups: readonly (PodGroup | CompositePodGroup)[];
  /** The last of them. */
  readonly outermost: PodGroup | CompositePodGroup;
  readonly missing?: string;
}

/** Upstream: framework/preemption/util.go, TraverseHierarchyUp. */
export function ancestryOf(
  group: PodGroup | CompositePodGroup,
  lookup: CompositeLookup | undefined,
): Ancestry {
  const groups = [group];
  let outermost = group;
  if (lookup === undefined) return { groups, outermost };
  const { namespace } = group.metadata;
  let parent = group.spec.parentCompositePodGroupName;
  while (parent !== undefined && groups.length < maxDepth) {
    const composite = lookup.composite(namespace, parent);
    if (composite === undefined) return { groups, outermost, missing: parent };
    groups.push(composite);
    outermost = composite;
    parent = composite.spec.parentCompositePodGroupName;
  }
  return { groups, outermost };
}

/** The group with all in it, without pods; those in one by name. Throws where a group is in itself. */
export function treeOf(
  object: PodGroup | CompositePodGroup,
  lookup: CompositeLookup | undefined,
  above: ReadonlySet<string> = new Set(),
): GroupNode {
  if (isLeaf(object) || lookup === undefined)
    return { type: "podgroup", object: object as PodGroup, pods: [] };
  const { namespace, name } = object.metadata;
  if (above.has(name)) throw new Error(`cycle detected in composite pod group hierarchy: ${name}`);
  const seen = new Set([...above, name]);
  const children = [...lookup.compositesIn(namespace, name), ...lookup.groupsIn(namespace, name)]
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((child) => treeOf(child, lookup, seen));
  return { type: "compositepodgroup", object, children };
}

export const isLeaf = (object: PodGroup | CompositePodGroup): object is PodGroup =>
  object.kind === "PodGroup";

/**
 * Reports whether the minimum number of its groups are ready, down to the pods. Upstream: isCPGTreeReady,
 * isPGReady.
 */
export function isReady(
  node: GroupNode,
  count: (group: PodGroup) => number,
  minCount: (group: PodGroup) => number,
): boolean {
  if (node.type === "podgroup") return count(node.object) >= minCount(node.object);
  const ready = node.children.filter((child) => isReady(child, count, minCount)).length;
  return ready >= (node.object.spec.schedulingPolicy.gang?.minGroupCount ?? 1);
}
