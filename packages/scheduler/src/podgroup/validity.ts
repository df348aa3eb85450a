import type { Pod } from "@dray/api/core/v1";
import { type GroupNode, groupPriority, leavesOf, podsOf } from "../framework/group-tree.ts";
import { priorityOf } from "../framework/priority.ts";
import type { PodGroups } from "./pod-groups.ts";

const defaultPolicy = "PreemptLowerPriority";

const policyOf = ({ spec }: Pick<Pod, "spec">): string => spec.preemptionPolicy ?? defaultPolicy;

/**
 * Returns why the pods cannot be scheduled together. `hasPolicies`: groups have a preemption policy of their
 * own (gate PodGroupPreemptionPolicy). Upstream: validatePodGroup, validateScheduledPods.
 */
export function groupProblem(root: GroupNode, groups: PodGroups, hasPolicies: boolean): string | undefined {
  const all = [...podsOf(root), ...leavesOf(root).flatMap(({ object }) => groups.placed(object))];
  const first = all[0]!;
  const priority = groupPriority(root);
  const policy = hasPolicies ? (root.object.spec.preemptionPolicy ?? defaultPolicy) : policyOf(first);
  for (const pod of all) {
    const [own, wanted] = [pod.spec.schedulerName, first.spec.schedulerName].map((text) =>
      JSON.stringify(text),
    );
    if (own !== wanted)
      return `all pods in a single pod group should have the same .spec.schedulerName set, got: ${own} and ${wanted}`;
    if (priorityOf(pod) !== priority)
      return `all pods in a single pod group should have the same priority as the pod group's priority, got ${priorityOf(pod)} and ${priority}`;
    if (policyOf(pod) === policy) continue;
    const which = hasPolicies ? " as the pod group's preemption policy" : "";
    return `all pods in a single pod group should have the same preemption policy${which}, got ${policyOf(pod)} and ${policy}`;
  }
  return undefined;
}
