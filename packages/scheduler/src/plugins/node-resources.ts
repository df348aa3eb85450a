import { maxScore, type Plugin } from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";
import { nonzeroRequest, requestsOf } from "../resources.ts";

const defaultPods = 110;

/** The pod's requests must fit into what the node has left; emptier nodes score higher (LeastAllocated). */
export const nodeResourcesFit: Plugin = {
  name: "NodeResourcesFit",
  weight: 1,
  filter(_state, pod, node) {
    const reasons: string[] = [];
    let resolvable = true;
    if (node.pods.size + 1 > (node.allocatable.get("pods") ?? defaultPods)) reasons.push("Too many pods");
    for (const [resource, amount] of requestsOf(pod)) {
      if (amount === 0 || resource === "pods") continue;
      const allocatable = node.allocatable.get(resource) ?? 0;
      if (amount <= allocatable - (node.requested.get(resource) ?? 0)) continue;
      reasons.push(`Insufficient ${resource}`);
      // More than the whole node has: no preemption frees that.
      if (amount > allocatable) resolvable = false;
    }
    return reasons.length === 0 ? undefined : { plugin: "NodeResourcesFit", reasons, resolvable };
  },
  score(_state, pod, node) {
    const scores = usage(pod, node).map(({ requested, capacity }) =>
      capacity === 0 || requested > capacity ? 0 : Math.floor(((capacity - requested) * maxScore) / capacity),
    );
    return Math.floor(scores.reduce((sum, score) => sum + score, 0) / scores.length);
  },
  mayHelp: (_pod, event) =>
    event.kind === "node" ||
    event.kind === "assigned-pod" ||
    event.kind === "released" ||
    event.kind === "own-pod",
};

/** Prefers nodes whose cpu and memory would be used in equal parts. */
export const nodeResourcesBalancedAllocation: Plugin = {
  name: "NodeResourcesBalancedAllocation",
  weight: 1,
  score(_state, pod, node) {
    const [cpu = 0, memory = 0] = usage(pod, node).map(({ requested, capacity }) =>
      capacity === 0 ? 1 : Math.min(requested / capacity, 1),
    );
    // The standard deviation of two values is half their distance.
    return Math.floor((1 - Math.abs(cpu - memory) / 2) * maxScore);
  },
  mayHelp: () => false,
};

function usage(
  pod: Parameters<typeof nonzeroRequest>[0],
  node: NodeInfo,
): { requested: number; capacity: number }[] {
  return (["cpu", "memory"] as const).map((resource) => ({
    requested: node.scored[resource] + nonzeroRequest(pod, resource),
    capacity: node.allocatable.get(resource) ?? 0,
  }));
}
