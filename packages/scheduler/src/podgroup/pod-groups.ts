import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import type { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { SchedulerCache } from "../cache/cache.ts";
import { type GroupNode, leavesOf } from "../framework/group-tree.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import { priorityOf } from "../framework/priority.ts";
import { type Ancestry, ancestryOf, type CompositeLookup, treeOf } from "./hierarchy.ts";

/** Reports whether pods are scheduled in groups. 1.35 has Workloads in their place. */
export const hasPodGroups = (features: Features): boolean =>
  features.enabled("GenericWorkload") && features.version >= "1.36";

/** The name of the group that the pod belongs to. */
export const groupNameOf = (pod: Pod): string | undefined => pod.spec.schedulingGroup?.podGroupName;

const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

/** Where pods are, or will be. */
type Places = Pick<SchedulerCache, "isPlaced" | "nodeOf">;

/** Groups of pods that are scheduled together (KEP-4671), and the pods that have not ended, by group. */
export class PodGroups {
  readonly #find: (namespace: string, name: string) => PodGroup | undefined;
  readonly #places: Places;
  readonly #hasGangs: boolean;
  readonly #composites: CompositeLookup | undefined;
  readonly #members = new Map<string, Map<string, Pod>>();

  /**
   * `hasGangs`: whether groups can have a minimum. `composites`: absent where there are no groups of groups.
   */
  constructor(
    find: (namespace: string, name: string) => PodGroup | undefined,
    places: Places,
    hasGangs = true,
    composites?: CompositeLookup,
  ) {
    this.#find = find;
    this.#places = places;
    this.#hasGangs = hasGangs;
    this.#composites = composites;
  }

  /** The group of the pod; undefined: it belongs to none, or the group does not exist. */
  of(pod: Pod): PodGroup | undefined {
    const name = groupNameOf(pod);
    return name === undefined ? undefined : this.#find(pod.metadata.namespace, name);
  }

  /** Reports whether there are groups of groups. */
  get hasComposites(): boolean {
    return this.#composites !== undefined;
  }

  /** The group of the pod with those around it; undefined as for `of`. */
  ancestryOf(pod: Pod): Ancestry | undefined {
    const group = this.of(pod);
    return group && ancestryOf(group, this.#composites);
  }

  /**
   * The outermost group around the pod, with all that is in it; without the pods. Undefined: the pod belongs
   * to no group, or one of them does not exist.
   */
  rootOf(pod: Pod): GroupNode | undefined {
    const ancestry = this.ancestryOf(pod);
    if (ancestry === undefined || ancestry.missing !== undefined) return undefined;
    return this.treeOf(ancestry.outermost);
  }

  /** The group with all that is in it; without the pods. Throws where a group is in itself. */
  treeOf(group: PodGroup | CompositePodGroup): GroupNode {
    return treeOf(group, this.#composites);
  }

  /** The same; undefined also where a group is in itself. */
  knownRootOf(pod: Pod): GroupNode | undefined {
    try {
      return this.rootOf(pod);
    } catch {
      return undefined;
    }
  }

  /**
   * The uid of the outermost group around a group of pods or of groups; undefined: one of them does not
   * exist.
   */
  rootUid(type: GroupNode["type"], namespace: string, name: string): string | undefined {
    const find = type === "podgroup" ? this.#find : this.#composites?.composite;
    const group = find?.(namespace, name);
    if (group === undefined) return undefined;
    const { outermost, missing } = ancestryOf(group, this.#composites);
    return missing === undefined ? outermost.metadata.uid : undefined;
  }

  /** All pods of a group and of those in it that are on a node, or will be. */
  placedIn(group: PodGroup | CompositePodGroup): readonly Pod[] {
    return leavesOf(this.treeOf(group)).flatMap(({ object }) => this.placed(object));
  }

  /** The same groups, with those of the pods that belong to them. */
  withPods(node: GroupNode, pods: readonly Pod[]): GroupNode {
    if (node.type === "compositepodgroup")
      return { ...node, children: node.children.map((child) => this.withPods(child, pods)) };
    const { namespace, name } = node.object.metadata;
    const own = pods.filter((pod) => pod.metadata.namespace === namespace && groupNameOf(pod) === name);
    return { ...node, pods: own };
  }

  /**
   * Returns how many pods of a group have to be scheduled together; a group without a gang is satisfied with
   * one.
   */
  minCount({ spec }: PodGroup): number {
    return (this.#hasGangs ? spec.schedulingPolicy.gang?.minCount : undefined) ?? 1;
  }

  /**
   * The priority that counts in preemption: that of the outermost group around the pod.
   * Upstream: framework/preemption/util.go, GetPodPriority.
   */
  priorityOf(pod: Pod): number {
    const group = this.ancestryOf(pod)?.outermost;
    return group === undefined ? priorityOf(pod) : (group.spec.priority ?? 0);
  }

  /** The pod, new or changed. */
  set(pod: Pod): void {
    const name = groupNameOf(pod);
    if (name === undefined) return;
    if (isPodTerminal(pod)) {
      this.delete(pod);
      return;
    }
    const key = keyOf(pod.metadata.namespace, name);
    const members = this.#members.get(key) ?? new Map<string, Pod>();
    this.#members.set(key, members.set(pod.metadata.uid, pod));
  }

  delete(pod: Pod): void {
    const name = groupNameOf(pod);
    if (name === undefined) return;
    const key = keyOf(pod.metadata.namespace, name);
    const members = this.#members.get(key);
    members?.delete(pod.metadata.uid);
    if (members?.size === 0) this.#members.delete(key);
  }

  members(namespace: string, name: string): readonly Pod[] {
    return [...(this.#members.get(keyOf(namespace, name))?.values() ?? [])];
  }

  /** The node of a pod that is on one, or will be; undefined: the node does not exist. */
  nodeOf(uid: string): NodeInfo | undefined {
    return this.#places.nodeOf(uid);
  }

  /** Its pods that have not ended. */
  membersOf({ metadata }: PodGroup): readonly Pod[] {
    return this.members(metadata.namespace, metadata.name);
  }

  /** Those of its pods that are on a node, or will be. */
  placed(group: PodGroup): readonly Pod[] {
    return this.membersOf(group).filter(({ metadata: { uid } }) => this.#places.isPlaced(uid));
  }
}
