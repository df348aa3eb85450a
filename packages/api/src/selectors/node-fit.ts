import type { PodSpec, Taint, Toleration } from "../generated/core/v1.ts";
import { int64Of } from "../text/decimal-integer.ts";
import { matchLabels } from "./labels.ts";
import { type NodeTest, readLazily, type SelectableNode } from "./node-selector.ts";

/**
 * Reads `nodeSelector` and the required node affinity of a pod: whether they let it run on a node. A
 * malformed term of the affinity matches nothing, and is not an error: scheduler, kubelet and DaemonSet
 * controller use the others.
 * Upstream: k8s.io/component-helpers/scheduling/corev1/nodeaffinity, RequiredNodeAffinity.
 */
export function readNodeAffinity(spec: Pick<PodSpec, "nodeSelector" | "affinity">): NodeTest {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const affinity = required ? readLazily(required) : undefined;
  return (node) =>
    matchLabels(spec.nodeSelector, node.metadata.labels) && (affinity === undefined || affinity(node));
}

/** `readNodeAffinity` for one node. */
export function matchesNode(spec: Pick<PodSpec, "nodeSelector" | "affinity">, node: SelectableNode): boolean {
  return readNodeAffinity(spec)(node);
}

/** The taints with one of these effects that nothing tolerates. */
export function untolerated(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly string[],
): Taint[] {
  return (taints ?? []).filter(
    (taint) =>
      effects.includes(taint.effect) &&
      !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
}

/**
 * Whether a pod's toleration tolerates a node's taint: an empty key every key, an empty effect every effect
 * (core/v1 Toleration). The API server stores comparisons of numbers only with the gate
 * TaintTolerationComparisonOperators (KEP-5471).
 */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator || "Equal") {
    case "Equal":
      return (toleration.value ?? "") === (taint.value ?? "");
    case "Exists":
      return true;
    case "Lt":
    case "Gt": {
      const [own, theirs] = [int64Of(toleration.value), int64Of(taint.value)];
      if (own === undefined || theirs === undefined) return false;
      return toleration.operator === "Lt" ? theirs < own : theirs > own;
    }
    default:
      return false;
  }
}
