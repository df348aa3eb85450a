import type { Pod } from "@dray/api/core/v1";
import type { ResourceClaim, ResourceClaimConsumerReference } from "@dray/api/resource/v1";

/** Reports whether a consumer of a claim is the pod, or the group of pods that it belongs to (KEP-5729). */
export function isConsumer(
  { apiGroup, resource, name, uid }: ResourceClaimConsumerReference,
  pod: Pod,
): boolean {
  if (apiGroup === "scheduling.k8s.io" && resource === "podgroups")
    return name === pod.spec.schedulingGroup?.podGroupName;
  return uid === pod.metadata.uid;
}

/** Reports whether the claim is reserved for the pod or its group. */
export function isReservedFor(pod: Pod, claim: ResourceClaim): boolean {
  return (claim.status?.reservedFor ?? []).some((consumer) => isConsumer(consumer, pod));
}
