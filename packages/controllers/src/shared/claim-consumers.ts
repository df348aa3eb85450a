import { controllerOf } from "@dray/api";
import type { Pod, PodResourceClaim } from "@dray/api/core/v1";
import type { ResourceClaim, ResourceClaimConsumerReference } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { groupOf } from "./owners.ts";

const schedulingGroup = "scheduling.k8s.io";

/**
 * Reports whether the claim was generated for the pod or, where groups have claims (KEP-5729), for its group.
 */
export function isForPod(pod: Pod, claim: ResourceClaim, groupsHaveClaims: boolean): boolean {
  const owner = controllerOf(claim);
  if (owner === undefined) return false;
  if (owner.uid === pod.metadata.uid) return true;
  return (
    groupsHaveClaims &&
    owner.kind === "PodGroup" &&
    groupOf(owner.apiVersion) === schedulingGroup &&
    owner.name === podGroupName(pod)
  );
}

/**
 * Reports whether the claim is reserved for the pod or its group. A pod does not have its group's uid: the
 * name decides.
 */
export function isReservedForPod(pod: Pod, claim: ResourceClaim, groupsHaveClaims: boolean): boolean {
  return (claim.status?.reservedFor ?? []).some(
    (consumer) =>
      consumer.uid === pod.metadata.uid ||
      (groupsHaveClaims && isPodGroup(consumer) && consumer.name === podGroupName(pod)),
  );
}

/** Reports whether an entry of `reservedFor` names a group of pods. */
export function isPodGroup({ apiGroup, resource }: ResourceClaimConsumerReference): boolean {
  return apiGroup === schedulingGroup && resource === "podgroups";
}

/** Reports whether an entry of `reservedFor` names a pod. */
export function isPod({ apiGroup, resource }: ResourceClaimConsumerReference): boolean {
  return (apiGroup ?? "") === "" && resource === "pods";
}

export function podGroupName(pod: Pod): string | undefined {
  return pod.spec.schedulingGroup?.podGroupName;
}

/** Reports whether the group's claim of this name stands for the pod's: name and reference must be equal. */
export function isGroupClaim(group: PodGroup, entry: PodResourceClaim): boolean {
  return (group.spec.resourceClaims ?? []).some(
    ({ name, resourceClaimName, resourceClaimTemplateName }) =>
      name === entry.name &&
      resourceClaimName === entry.resourceClaimName &&
      resourceClaimTemplateName === entry.resourceClaimTemplateName,
  );
}

/**
 * The consumer that a claim of the pod is reserved for: the pod or its group. Without an entry it is the
 * claim of the pod's extended resources. Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, BindTo.
 */
export function consumerOf(
  pod: Pod,
  group: PodGroup | undefined,
  entry: PodResourceClaim | undefined,
): ResourceClaimConsumerReference {
  if (group !== undefined && entry !== undefined && isGroupClaim(group, entry)) {
    const { name, uid } = group.metadata;
    return { apiGroup: schedulingGroup, resource: "podgroups", name, uid };
  }
  return { resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid };
}
