import type { Plugin } from "../framework/framework.ts";
import { priorityOf } from "../framework/priority.ts";

/**
 * The highest priority first, then the pod that waits longest. Upstream: plugins/queuesort/priority_sort.go.
 */
export const prioritySort: Plugin = {
  name: "PrioritySort",
  less(a, b) {
    const [high, low] = [priorityOf(a.pod), priorityOf(b.pod)];
    return high === low ? a.since < b.since : high > low;
  },
  mayHelp: () => false,
};
