import { controllerOf } from "@dray/api";
import type { Pod, PodResourceClaim } from "@dray/api/core/v1";
import { podClaimName } from "@dray/api/pod";
import type {
  AllocationResult,
  DeviceClass,
  ResourceClaim,
  ResourceClaimConsumerReference,
} from "@dray/api/resource/v1";

import type { PodGroup } from "@dray/api/scheduling/v1beta1";

/** A claim of a pod, by the entry of `spec.resourceClaims` that names it. */
export interface ClaimOfPod {
  readonly entry: PodResourceClaim;
  readonly claim: ResourceClaim;
}

/**
 * The pod's claims in their order, or why one of them cannot be used. `find` looks one up by name.
 * Upstream: dynamicresources.go, foreachPodResourceClaim.
 */
export function claimsOf(
  pod: Pod,
  find: (name: string) => ResourceClaim | undefined,
  acceptsGroup = false,
): { readonly claims: readonly ClaimOfPod[] } | { readonly problem: string } {
  const whose = `${pod.metadata.namespace}/${pod.metadata.name}`;
  const claims: ClaimOfPod[] = [];
  for (const entry of pod.spec.resourceClaims ?? []) {
    const name = podClaimName(pod, entry);
    if (name === null) continue;
    if (name === undefined) return { problem: `pod "${whose}": ResourceClaim not created yet` };
    const claim = find(name);
    if (claim === undefined) return { problem: `resourceclaim "${name}" not found` };
    if (claim.metadata.deletionTimestamp !== undefined) {
      return { problem: `resourceclaim "${name}" is being deleted` };
    }
    if (entry.resourceClaimTemplateName !== undefined) {
      const problem = ownerProblem(pod, claim, acceptsGroup);
      if (problem !== undefined) return { problem };
    }
    claims.push({ entry, claim });
  }
  return { claims };
}

/**
 * Returns why a generated claim is not for the pod. Upstream:
 * k8s.io/dynamic-resource-allocation/resourceclaim, IsForPod.
 */
function ownerProblem(
  { metadata, spec }: Pod,
  claim: ResourceClaim,
  acceptsGroup: boolean,
): string | undefined {
  const owner = controllerOf(claim);
  if (owner?.uid === metadata.uid) return undefined;
  const title = `ResourceClaim ${metadata.namespace}/${claim.metadata.name} was not created for Pod ${metadata.namespace}/${metadata.name}`;
  const group = acceptsGroup ? spec.schedulingGroup?.podGroupName : undefined;
  if (group === undefined) return `${title} (Pod is not owner)`;
  const isGroups =
    owner?.kind === "PodGroup" && owner.name === group && owner.apiVersion.startsWith("scheduling.k8s.io/");
  return isGroups ? undefined : `${title} (neither Pod nor PodGroup ${group} is the owner)`;
}

/**
 * Returns why a claim cannot be allocated on any node: the first request whose class does not exist. Throws
 * for a request whose kind is unknown, which waiting does not mend.
 */
export function requestProblem(
  { metadata, spec }: ResourceClaim,
  find: (name: string) => DeviceClass | undefined,
  prioritizedList: boolean,
): string | undefined {
  for (const { name, exactly, firstAvailable } of spec.devices?.requests ?? []) {
    const title = `resource claim ${metadata.namespace}/${metadata.name}, request ${name}`;
    const alternatives = exactly ? [{ path: name, ...exactly }] : [];
    if (exactly === undefined) {
      if (!firstAvailable?.length) return `${title}: unknown request type`;
      if (!prioritizedList)
        return `${title}: has subrequests, but the DRAPrioritizedList feature is disabled`;
      for (const one of firstAvailable) alternatives.push({ ...one, path: `${name}/${one.name}` });
    }
    for (const { path, deviceClassName } of alternatives) {
      if (!deviceClassName) throw new Error(`request ${path}: unsupported request type`);
      if (find(deviceClassName) === undefined)
        return `request ${path}: device class ${deviceClassName} does not exist`;
    }
  }
  return undefined;
}

/** Whom a claim is reserved for: a pod, or the group of pods that shares it. */
export type Consumer = ResourceClaimConsumerReference;

export function podConsumer({ metadata: { name, uid } }: Pod): Consumer {
  return { resource: "pods", name, uid };
}

/**
 * Whom the claim of an entry is reserved for: the group, if it has the same entry.
 * Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, BindTo.
 */
export function consumerOf(pod: Pod, entry: PodResourceClaim, group: PodGroup | undefined): Consumer {
  const isShared = group?.spec.resourceClaims?.some(
    (one) =>
      one.name === entry.name &&
      one.resourceClaimName === entry.resourceClaimName &&
      one.resourceClaimTemplateName === entry.resourceClaimTemplateName,
  );
  if (group === undefined || !isShared) return podConsumer(pod);
  const { name, uid } = group.metadata;
  return { apiGroup: "scheduling.k8s.io", resource: "podgroups", name, uid };
}

export function isReservedFor(claim: ResourceClaim, { uid }: Pick<Consumer, "uid">): boolean {
  return claim.status?.reservedFor?.some((consumer) => consumer.uid === uid) ?? false;
}

/** Reports whether only this consumer uses the claim. */
export function unusedByOthers(claim: ResourceClaim, { uid }: Pick<Consumer, "uid">): boolean {
  return (claim.status?.reservedFor ?? []).every((consumer) => consumer.uid === uid);
}

/**
 * `driver/pool/device` of what an allocation has for itself alone: neither admin access (KEP-5018) nor
 * shares.
 */
export function exclusiveDevices(allocation: AllocationResult | undefined): readonly string[] {
  return (allocation?.devices?.results ?? [])
    .filter((result) => result.adminAccess !== true && result.shareID === undefined)
    .map(({ driver, pool, device }) => `${driver}/${pool}/${device}`);
}

/** Reports whether both give the same devices to the same requests. */
export function sameDevices(a: AllocationResult, b: AllocationResult): boolean {
  const text = ({ devices }: AllocationResult): string =>
    JSON.stringify(
      (devices?.results ?? []).map(({ request, driver, pool, device, shareID }) => [
        request,
        driver,
        pool,
        device,
        shareID ?? "",
      ]),
    );
  return text(a) === text(b);
}

/** Reports whether a claim says which devices it likes better (firstAvailable). */
export function hasAlternatives({ spec }: ResourceClaim): boolean {
  return (spec.devices?.requests ?? []).some(({ firstAvailable }) => (firstAvailable ?? []).length > 0);
}

/**
 * Returns how far up the chosen alternatives stand in their lists (KEP-4816): the first of a list counts 8
 * (FirstAvailableDeviceRequestMaxSize), the last 1. `allocations` belong to the claims, in their order.
 */
export function alternativesScore(
  claims: readonly ResourceClaim[],
  allocations: readonly (AllocationResult | undefined)[],
): number {
  let score = 0;
  claims.forEach((claim, i) => {
    const chosen = new Set(allocations[i]?.devices?.results?.map((result) => result.request));
    for (const { name, firstAvailable } of claim.spec.devices?.requests ?? []) {
      (firstAvailable ?? []).forEach((alternative, index) => {
        if (chosen.has(`${name}/${alternative.name}`)) score += 8 - index;
      });
    }
  });
  return score;
}

/**
 * The node that alone reaches the devices of an allocation: a selector of one term, `metadata.name In
 * [NODE]`.
 */
export function onlyNode({ nodeSelector }: AllocationResult): string | undefined {
  const [term, ...others] = nodeSelector?.nodeSelectorTerms ?? [];
  const [field, ...more] = term?.matchFields ?? [];
  if (others.length > 0 || more.length > 0 || field?.key !== "metadata.name" || field.operator !== "In")
    return undefined;
  return field.values?.length === 1 ? field.values[0] : undefined;
}
