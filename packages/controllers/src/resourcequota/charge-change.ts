import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { QuotaEvaluator } from "@dray/api/quota";

type Change = (evaluator: QuotaEvaluator, object: KubeObject, old: KubeObject) => boolean;

/**
 * By resource: whether an update moves the object to other quotas, or changes the charge of another object.
 */
const otherChanges: Readonly<Record<string, Change>> = {
  // A claim for extended resources is not charged twice once the pod names it (KEP-5004).
  pods: (evaluator, object, old) =>
    updates(evaluator, "", object, old) || extendedClaim(object) !== extendedClaim(old),
  services: () => false,
  persistentvolumeclaims: (evaluator, object, old) => updates(evaluator, "status", object, old),
};

/** Resources whose charge changes while they live: a pod ends, a service gives up a port, a claim grows. */
export function isChangeable(resource: string): boolean {
  return Object.hasOwn(otherChanges, resource);
}

/**
 * Reports whether an update may change what quotas count. Upstream: pkg/quota/v1/install/update_filter.go.
 */
export function changesCount(
  resource: string,
  evaluator: QuotaEvaluator,
  object: KubeObject,
  old: KubeObject,
): boolean {
  if (otherChanges[resource]?.(evaluator, object, old) === true) return true;
  const [now, before] = [evaluator.usage(object), evaluator.usage(old)];
  if (now.size !== before.size) return true;
  return [...now].some(([name, quantity]) => before.get(name)?.compare(quantity) !== 0);
}

function updates(
  evaluator: QuotaEvaluator,
  subresource: string,
  object: KubeObject,
  old: KubeObject,
): boolean {
  return evaluator.handles({ operation: "UPDATE", subresource, object, old });
}

function extendedClaim(object: KubeObject): string | undefined {
  return (object as Pod).status?.extendedResourceClaimStatus?.resourceClaimName;
}
