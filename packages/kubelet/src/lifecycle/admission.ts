import { matchesNode, Quantity } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { podRequests } from "@dray/api/pod";
import type { BoundsOptions } from "../resources/resource-config.ts";
import type { Refusal } from "../types/refusal.ts";

const osLabel = "kubernetes.io/os";

/**
 * Checks a pod that was bound to the node, since it may have been bound by hand or on outdated knowledge.
 * Returns undefined if it may run here.
 *
 * Upstream: pkg/kubelet/lifecycle/predicate.go; pkg/scheduler/eventhandlers.go, AdmissionCheck.
 */
export function admit(
  pod: Pod,
  node: Node,
  others: readonly Pod[],
  options: BoundsOptions,
): Refusal | undefined {
  const system = node.metadata.labels?.[osLabel];
  if (system !== undefined && (pod.metadata.labels?.[osLabel] ?? system) !== system)
    return {
      reason: "PodOSSelectorNodeLabelDoesNotMatch",
      message: `Failed to admit pod as the \`${osLabel}\` label doesn't match node label`,
    };
  if (system !== undefined && (pod.spec.os?.name ?? system) !== system)
    return {
      reason: "PodOSNotSupported",
      message: "Failed to admit pod as the OS field doesn't match node OS",
    };
  if (!matchesNode(pod.spec, node))
    return {
      reason: "NodeAffinity",
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    };
  const allocatable = node.status?.allocatable ?? {};
  const pods = Quantity.parse(allocatable["pods"] ?? "110");
  if (Quantity.of(others.length + 1).compare(pods) > 0)
    return outOf("pods", Quantity.of(1), Quantity.of(others.length), pods);
  const used = new Map<string, Quantity>();
  for (const other of others)
    for (const [name, quantity] of podRequests(other, options))
      used.set(name, used.get(name)?.add(quantity) ?? quantity);
  const claimed = new Set(
    (pod.status?.extendedResourceClaimStatus?.requestMappings ?? []).map(({ resourceName }) => resourceName),
  );
  for (const [name, quantity] of podRequests(pod, options)) {
    // Backed by devices of a claim, which were counted when they were allocated (KEP-5004).
    if (quantity.sign <= 0 || claimed.has(name)) continue;
    const capacity = Quantity.parse(allocatable[name] ?? "0");
    const taken = used.get(name) ?? Quantity.of(0);
    if (taken.add(quantity).compare(capacity) > 0) return outOf(name, quantity, taken, capacity);
  }
  return undefined;
}

function outOf(name: string, requested: Quantity, used: Quantity, capacity: Quantity): Refusal {
  const amount = (q: Quantity): string => String(name === "cpu" ? q.milliValue() : q.value());
  return {
    reason: `OutOf${name}`,
    message:
      `Node didn't have enough resource: ${name}, requested: ${amount(requested)}, ` +
      `used: ${amount(used)}, capacity: ${amount(capacity)}`,
  };
}
