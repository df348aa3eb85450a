import { controllerOf } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { podClaimName } from "@dray/api/pod";
import type { AllocationResult, DeviceClass, ResourceClaim } from "@dray/api/resource/v1";

/** The pod's claims in their order, or why one of them cannot be used. `find` looks one up by name. */
export function claimsOf(
  pod: Pod,
  find: (name: string) => ResourceClaim | undefined,
): { readonly claims: readonly ResourceClaim[] } | { readonly problem: string } {
  const whose = `${pod.metadata.namespace}/${pod.metadata.name}`;
  const claims: ResourceClaim[] = [];
  for (const entry of pod.spec.resourceClaims ?? []) {
    const name = podClaimName(pod, entry);
    if (name === null) continue;
    if (name === undefined) return { problem: `pod "${whose}": ResourceClaim not created yet` };
    const claim = find(name);
    if (claim === undefined) return { problem: `resourceclaim "${name}" not found` };
    if (claim.metadata.deletionTimestamp !== undefined) {
      return { problem: `resourceclaim "${name}" is being deleted` };
    }
    const owner = controllerOf(claim);
    if (entry.resourceClaimTemplateName !== undefined && owner?.uid !== pod.metadata.uid) {
      return {
        problem: `ResourceClaim ${pod.metadata.namespace}/${name} was not created for pod ${whose} (pod is not owner)`,
      };
    }
    claims.push(claim);
  }
  return { claims };
}

/** The first request whose class is not there, as a message. */
export function missingClass(
  claim: ResourceClaim,
  find: (name: string) => DeviceClass | undefined,
): string | undefined {
  for (const request of claim.spec.devices?.requests ?? []) {
    const alternatives = request.exactly
      ? [{ path: request.name, className: request.exactly.deviceClassName }]
      : (request.firstAvailable ?? []).map((alternative) => ({
          path: `${request.name}/${alternative.name}`,
          className: alternative.deviceClassName,
        }));
    for (const { path, className } of alternatives) {
      if (find(className) === undefined) return `request ${path}: device class ${className} does not exist`;
    }
  }
  return undefined;
}

export function reservedFor(claim: ResourceClaim, pod: Pod): boolean {
  return claim.status?.reservedFor?.some((consumer) => consumer.uid === pod.metadata.uid) ?? false;
}

/** Nobody but this pod uses the claim. */
export function unusedByOthers(claim: ResourceClaim, pod: Pod): boolean {
  return (claim.status?.reservedFor ?? []).every((consumer) => consumer.uid === pod.metadata.uid);
}

/** `driver/pool/device` of what an allocation has for itself alone: neither admin access (KEP-5018) nor shares. */
export function exclusiveDevices(allocation: AllocationResult | undefined): readonly string[] {
  return (allocation?.devices?.results ?? [])
    .filter((result) => result.adminAccess !== true && result.shareID === undefined)
    .map(({ driver, pool, device }) => `${driver}/${pool}/${device}`);
}

/** Whether both give the same devices to the same requests. */
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

/** How far up the chosen alternatives stand in their lists (KEP-4816): the first of a list counts 8, the last 1. */
/** Whether a claim says which devices it likes better (firstAvailable). */
export function hasAlternatives({ spec }: ResourceClaim): boolean {
  return (spec.devices?.requests ?? []).some(({ firstAvailable }) => (firstAvailable ?? []).length > 0);
}

export function alternativesScore(
  claims: readonly ResourceClaim[],
  allocations: readonly AllocationResult[],
): number {
  let score = 0;
  claims.forEach((claim, i) => {
    const chosen = new Set(allocations[i]?.devices?.results?.map((result) => result.request));
    for (const { name, firstAvailable } of claim.spec.devices?.requests ?? []) {
      const index = (firstAvailable ?? []).findIndex((alternative) =>
        chosen.has(`${name}/${alternative.name}`),
      );
      if (index >= 0) score += 8 - index;
    }
  });
  return score;
}
