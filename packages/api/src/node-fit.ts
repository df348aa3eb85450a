import type { Node, PodSpec, Taint, Toleration } from "./generated/core/v1.ts";
import { matchLabels } from "./selectors/labels.ts";
import { matchesNodeSelector } from "./selectors/node-selector.ts";

/** Whether `nodeSelector` and the required node affinity of a pod let it run on the node. */
export function matchesNode(spec: PodSpec, node: Node): boolean {
  if (!matchLabels(spec.nodeSelector, node.metadata.labels)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
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

/** Whether a pod's toleration tolerates a node's taint: an empty key every key, an empty effect every effect (core/v1 Toleration). */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === "Exists") return true;
  return (toleration.value ?? "") === (taint.value ?? "");
}
