import type { PodExtendedResourceClaimStatus, PodResourceClaim } from "../generated/core/v1.ts";

/** The fields of a pod, or of a group of pods, that name claims. */
interface ClaimConsumer {
  readonly spec: { readonly resourceClaims?: readonly PodResourceClaim[] | undefined };
  readonly status?:
    | {
        readonly resourceClaimStatuses?:
          | readonly { readonly name: string; readonly resourceClaimName?: string }[]
          | undefined;
        readonly extendedResourceClaimStatus?: PodExtendedResourceClaimStatus | undefined;
      }
    | undefined;
}

/** A claim of a pod or of a group of pods. */
export interface PodClaim {
  /**
   * The entry of `spec.resourceClaims`; undefined for the claim of the pod's extended resources (KEP-5004).
   */
  readonly entry: PodResourceClaim | undefined;
  /** Undefined while it has not been created, null if the status says that no claim is needed. */
  readonly name: string | null | undefined;
  /** It was created for the pod or its group, and must be owned by it. */
  readonly owned: boolean;
}

/** A claim that has been created. */
export type CreatedPodClaim = PodClaim & { readonly name: string };

/**
 * Returns all claims of a pod or a group of pods: the entries of `spec.resourceClaims` in their order, then
 * the claim that a scheduler has created for the pod's extended resources.
 */
export function podClaims(consumer: ClaimConsumer): PodClaim[] {
  const entries = (consumer.spec.resourceClaims ?? []).map(
    (entry): PodClaim => ({
      entry,
      name: podClaimName(consumer, entry),
      owned: (entry.resourceClaimName ?? undefined) === undefined,
    }),
  );
  const extended = consumer.status?.extendedResourceClaimStatus?.resourceClaimName;
  return extended ? [...entries, { entry: undefined, name: extended, owned: true }] : entries;
}

/** Returns the claims of a pod or a group of pods that have been created. */
export function createdPodClaims(consumer: ClaimConsumer): CreatedPodClaim[] {
  return podClaims(consumer).filter((claim): claim is CreatedPodClaim => Boolean(claim.name));
}

/** Reports whether a pod or a group of pods has claims, created or not. */
export function hasClaims({ spec, status }: ClaimConsumer): boolean {
  return (
    (spec.resourceClaims?.length ?? 0) > 0 || Boolean(status?.extendedResourceClaimStatus?.resourceClaimName)
  );
}

/**
 * The name of the claim of an entry of `spec.resourceClaims`: undefined while it has not been
 * created from its template yet, null if the status says that no claim is needed.
 *
 * Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, Name.
 */
export function podClaimName(
  pod: Pick<ClaimConsumer, "status">,
  entry: PodResourceClaim,
): string | null | undefined {
  if (typeof entry.resourceClaimName === "string") return entry.resourceClaimName;
  const status = pod.status?.resourceClaimStatuses?.find(({ name }) => name === entry.name);
  return status === undefined ? undefined : (status.resourceClaimName ?? null);
}
