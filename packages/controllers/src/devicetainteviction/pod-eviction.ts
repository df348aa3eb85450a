import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims, isPodTerminal } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { isForPod, isReservedForPod } from "../shared/claim-consumers.ts";
import { claimEviction, type Eviction, joinEvictions, type TaintSources } from "./evictions.ts";

export interface EvictionSources {
  readonly sources: TaintSources;
  /** Groups of pods have claims of their own (KEP-5729). */
  readonly groupsHaveClaims: boolean;
}

/**
 * When a pod has to go because of the claims that give it devices; undefined: it may stay. `claimOf` returns
 * a claim of the pod's namespace by name.
 */
export function podEviction(
  pod: Pod,
  claimOf: (name: string) => ResourceClaim | undefined,
  { sources, groupsHaveClaims }: EvictionSources,
): Eviction | undefined {
  let eviction: Eviction | undefined;
  for (const claim of evictingClaims(pod, claimOf, groupsHaveClaims))
    eviction = joinEvictions(eviction, claimEviction(claim, sources));
  return eviction;
}

/**
 * Returns the claims of a pod for whose devices it can be evicted: those that are allocated and reserved for
 * it.
 */
export function evictingClaims(
  pod: Pod,
  claimOf: (name: string) => ResourceClaim | undefined,
  groupsHaveClaims: boolean,
): ResourceClaim[] {
  if (!pod.spec.nodeName || pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return [];
  // Those of extended resources too: kubernetes/kubernetes#141290, upstream from 1.37.2 on.
  return createdPodClaims(pod).flatMap(({ name, owned }) => {
    const claim = claimOf(name);
    if (claim?.status?.allocation === undefined) return [];
    if (owned && !isForPod(pod, claim, groupsHaveClaims)) return [];
    return isReservedForPod(pod, claim, groupsHaveClaims) ? [claim] : [];
  });
}
