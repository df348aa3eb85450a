import type { Pod } from "@dray/api/core/v1";
import type { ClusterEvent, Plugin } from "../framework.ts";
import { groupNameOf, type PodGroups } from "../pod-groups.ts";

/**
 * Holds pods of a group back until the group exists and has enough pods (KEP-4671). `group-cycle.ts` places them
 * together.
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
    const group = this.#groups.of(pod);
    if (group === undefined)
      return `waiting for pods's pod group ${JSON.stringify(name)} to appear in scheduling queue`;
    const { namespace } = pod.metadata;
    return this.#groups.members(namespace, name).length < this.#groups.minCount(group)
      ? "waiting for minCount pods from a gang to appear in scheduling queue"
      : undefined;
  }

  mayHelp(pod: Pod, event: ClusterEvent): boolean {
    if (event.kind === "released") return event.pod === undefined;
    if (event.kind !== "pod-group") return false;
    const isOwn = event.namespace === pod.metadata.namespace && event.name === groupNameOf(pod);
    if (!isOwn || event.group === undefined || event.old === undefined) return isOwn;
    const [now, before] = [event.group, event.old].map(({ spec }) => spec.schedulingPolicy.gang?.minCount);
    return now !== undefined && before !== undefined && now < before;
  }
}
