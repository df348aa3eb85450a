import { maxScore, type Plugin } from "../framework/framework.ts";
import type { PodGroups } from "../podgroup/pod-groups.ts";
import { scheduledPods } from "./topology-placement.ts";

/**
 * Prefers placements that take more pods of the group; those on nodes already count in all of them.
 * Upstream: plugins/podgrouppodscount/podgroup_pods_count.go
 */
export function podGroupPodsCount(groups: PodGroups): Plugin {
  return {
    name: "PodGroupPodsCount",
    scorePlacement: (group, _placement, pods) => scheduledPods(groups, group).length + pods.length,
    normalizePlacements(scores) {
      const most = Math.max(...scores.values());
      if (most === 0) return;
      for (const [placement, count] of scores) scores.set(placement, Math.floor((count * maxScore) / most));
    },
    mayHelp: () => true,
  };
}
