import { maxScore, type Plugin } from "../framework.ts";
import { requestsOf, scoredRequest } from "../resources.ts";
import { type ExtendedClass, isServedByDevices } from "./extended-resources.ts";

const defaultPods = 110;
/** What scores go by. Resources that a node does not have are left out (kube-scheduler's resource allocation scorer). */
const scored = ["cpu", "memory"] as const;

/**
 * The pod's requests must fit into what the node has left, but for extended resources that DynamicResources gives it as
 * devices; emptier nodes score higher (LeastAllocated).
 */
export const nodeResourcesFit = (extendedClass?: ExtendedClass): Plugin => ({
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
      if (isServedByDevices(resource, allocatable, extendedClass)) continue;
      reasons.push(`Insufficient ${resource}`);
      // More than the whole node has: no preemption frees that.
      if (amount > allocatable) resolvable = false;
    }
    return reasons.length === 0 ? undefined : { plugin: "NodeResourcesFit", reasons, resolvable };
  },
  score(_state, pod, node) {
    const scores = scored.flatMap((resource) => {
      const capacity = node.allocatable.get(resource) ?? 0;
      if (capacity === 0) return [];
      const requested = node.scored[resource] + scoredRequest(pod)[resource];
      return requested > capacity ? 0 : Math.floor(((capacity - requested) * maxScore) / capacity);
    });
    if (scores.length === 0) return 0;
    return Math.floor(scores.reduce((sum, score) => sum + score, 0) / scores.length);
  },
  mayHelp: (_pod, event) =>
    event.kind === "node" ||
    (event.kind === "assigned-pod" && event.change !== "add") ||
    event.kind === "released" ||
    event.kind === "own-pod" ||
    (event.kind === "class" && extendedClass !== undefined),
});

/**
 * Prefers nodes whose cpu and memory would be used in equal parts. It counts what is asked for, without assumptions,
 * and has no say about pods that ask for nothing.
 */
export const nodeResourcesBalancedAllocation: Plugin = {
  name: "NodeResourcesBalancedAllocation",
  weight: 1,
  score(_state, pod, node) {
    const asked = requestsOf(pod);
    if (scored.every((resource) => (asked.get(resource) ?? 0) === 0)) return 0;
    const shares = scored.flatMap((resource) => {
      const capacity = node.allocatable.get(resource) ?? 0;
      const requested = (node.requested.get(resource) ?? 0) + (asked.get(resource) ?? 0);
      return capacity === 0 ? [] : Math.min(requested / capacity, 1);
    });
    // The standard deviation of two values is half their distance, that of one is none.
    const [one = 0, other = one] = shares;
    return Math.floor((1 - Math.abs((one - other) / 2)) * maxScore);
  },
  mayHelp: () => false,
};
