import type { Pod } from "@dray/api/core/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { ClusterEvent, Plugin } from "../framework/framework.ts";
import type { GroupNode } from "../framework/group-tree.ts";
import { isReady } from "../podgroup/hierarchy.ts";
import { groupNameOf, type PodGroups } from "../podgroup/pod-groups.ts";

const waitsForPods = "waiting for minCount pods from a gang to appear in scheduling queue";

/**
 * Holds pods of a group back until the group exists and has enough pods (KEP-4671). `group-cycle.ts` places
 * them together.
 * Upstream: pkg/scheduler/framework/plugins/gangscheduling.
 */
export class GangScheduling implements Plugin {
  readonly name = "GangScheduling";
  readonly #groups: PodGroups;

  constructor(groups: PodGroups) {
    this.#groups = groups;
  }

  preEnqueue(pod: Pod): string | undefined {
    const name = groupNameOf(pod);
    if (name === undefined) return undefined;
    if (this.#groups.hasComposites) return this.#hierarchyGate(pod, name);
    const group = this.#groups.of(pod);
    if (group === undefined)
      return `waiting for pods's pod group ${JSON.stringify(name)} to appear in scheduling queue`;
    return this.#groups.membersOf(group).length < this.#groups.minCount(group) ? waitsForPods : undefined;
  }

  /** Upstream: preEnqueueWithHierarchies. */
  #hierarchyGate(pod: Pod, name: string): string | undefined {
    const { namespace } = pod.metadata;
    const failed = (text: string): string => `failed to build hierarchy snapshot: ${text}`;
    const ancestry = this.#groups.ancestryOf(pod);
    if (ancestry === undefined)
      return failed(`pod group object not found in state for podgroup/${namespace}/${name}`);
    const { missing, groups, outermost } = ancestry;
    if (missing !== undefined)
      return failed(
        `composite pod group object not found in state for compositepodgroup/${namespace}/${missing}`,
      );
    let root: GroupNode;
    try {
      root = this.#groups.treeOf(outermost);
    } catch (error) {
      return failed((error as Error).message);
    }
    const count = (group: PodGroup): number => this.#groups.membersOf(group).length;
    if (isReady(root, count, (group) => this.#groups.minCount(group))) return undefined;
    if (groups.length === 1) return waitsForPods;
    return `waiting for composite pod group ${JSON.stringify(root.object.metadata.name)} tree to meet quorum`;
  }

  mayHelp(pod: Pod, event: ClusterEvent): boolean {
    if (event.kind === "released") return event.pod === undefined;
    if (event.kind !== "pod-group" || !this.#isOfOneRoot(pod, event)) return false;
    if (event.group === undefined || event.old === undefined) return true;
    const [now, before] = [event.group, event.old].map(({ spec }) => spec.schedulingPolicy.gang?.minCount);
    return now !== undefined && before !== undefined && now < before;
  }

  /**
   * Reports whether the event is about a group with which the pod is scheduled. Upstream: areSameHierarchy.
   */
  #isOfOneRoot({ metadata, spec }: Pod, event: ClusterEvent & { kind: "pod-group" }): boolean {
    const name = spec.schedulingGroup?.podGroupName;
    if (name === undefined || event.namespace !== metadata.namespace) return false;
    const type = event.composite === undefined ? "podgroup" : "compositepodgroup";
    if (type === "podgroup" && event.name === name) return true;
    if (!this.#groups.hasComposites) return false;
    const root = this.#groups.rootUid("podgroup", metadata.namespace, name);
    return root !== undefined && root === this.#groups.rootUid(type, event.namespace, event.name);
  }
}
