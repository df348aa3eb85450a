import { controllerOf, type Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { type AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import type { ClaimName } from "./claim-names.ts";
import { type SkipNodeOperation, skippedOperations } from "./skipped-operations.ts";

/** A group of pods that may hold a claim in place of each of them (KEP-5729). */
const podGroups = { apiGroup: "scheduling.k8s.io", resource: "podgroups" } as const;

/** An existing and allocated claim of a pod. */
export interface UsableClaim {
  readonly claim: ResourceClaim;
  readonly allocation: AllocationResult;
  /** Drivers of its devices, each with the calls that it does not need. */
  readonly drivers: ReadonlyMap<string, readonly SkipNodeOperation[]>;
}

/**
 * Gets a claim and checks that the pod may use it. Rejects with the message of the pod's event.
 *
 * Upstream: pkg/kubelet/cm/dra/manager.go, prepareResources, and
 * k8s.io/dynamic-resource-allocation/resourceclaim.
 */
export async function usableClaim(
  client: Client,
  features: Features,
  pod: Pod,
  claimName: ClaimName,
): Promise<UsableClaim> {
  const { namespace } = pod.metadata;
  const { name } = claimName;
  let claim: ResourceClaim;
  try {
    claim = await client.resource(ResourceClaim).get({ namespace, name });
  } catch (error) {
    throw new Error(
      `failed to fetch ResourceClaim ${name} referenced by pod ${pod.metadata.name}: ${(error as Error).message}`,
      { cause: error },
    );
  }
  return checkUsable(claim, features, pod, claimName);
}

/** Checks that the pod may use its claim. Throws an error with the message of the pod's event. */
export function checkUsable(
  claim: ResourceClaim,
  features: Features,
  pod: Pod,
  { name, owned }: ClaimName,
): UsableClaim {
  const { namespace, uid } = pod.metadata;
  if (owned) checkOwner(claim, pod);
  if (!isReservedFor(claim, pod))
    throw new Error(
      `pod ${pod.metadata.name} (${uid}) is not allowed to use ResourceClaim ${name} (${claim.metadata.uid})`,
    );
  const { allocation } = claim.status ?? {};
  if (allocation === undefined) throw new Error(`ResourceClaim ${namespace}/${name} is not allocated`);
  const drivers = skippedOperations(allocation);
  const skips = [...drivers.values()].some((operations) => operations.length > 0);
  if (skips && !features.enabled("DRAOptionalNodeOperations"))
    throw new Error(`ResourceClaim ${name}: DRAOptionalNodeOperations feature gate is disabled on kubelet`);
  return { claim, allocation, drivers };
}

function checkOwner(claim: ResourceClaim, pod: Pod): void {
  const controller = controllerOf(claim);
  const { namespace, name, uid } = pod.metadata;
  const ofGroup =
    controller?.kind === "PodGroup" &&
    controller.apiVersion.startsWith(`${podGroups.apiGroup}/`) &&
    controller.name === pod.spec.schedulingGroup?.podGroupName;
  if (controller?.kind === "Pod" && controller.uid !== uid)
    throw new Error(
      `ResourceClaim ${namespace}/${claim.metadata.name} was not created for pod ${namespace}/${name} (pod is not owner)`,
    );
  if (controller?.kind !== "Pod" && !ofGroup)
    throw new Error(
      `ResourceClaim ${namespace}/${claim.metadata.name} is not controlled by the pod or its pod group`,
    );
}

function isReservedFor({ status }: ResourceClaim, { metadata, spec }: Pod): boolean {
  return (status?.reservedFor ?? []).some(
    ({ apiGroup = "", resource, name, uid }) =>
      uid === metadata.uid ||
      (apiGroup === podGroups.apiGroup &&
        resource === podGroups.resource &&
        name === spec.schedulingGroup?.podGroupName),
  );
}
