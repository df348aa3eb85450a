import type { Pod, PodResourceClaim } from "../generated/core/v1.ts";

/**
 * The name of the claim of an entry of `spec.resourceClaims`: undefined while it has not been
 * created from its template yet, null if the status says that no claim is needed.
 *
 * Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, Name.
 */
export function podClaimName(
  pod: { readonly status?: Pick<NonNullable<Pod["status"]>, "resourceClaimStatuses"> | undefined },
  entry: PodResourceClaim,
): string | null | undefined {
  if (entry.resourceClaimName !== undefined) return entry.resourceClaimName;
  const status = pod.status?.resourceClaimStatuses?.find(({ name }) => name === entry.name);
  return status === undefined ? undefined : (status.resourceClaimName ?? null);
}
