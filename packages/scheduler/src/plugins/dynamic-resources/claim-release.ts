/** Release of idle claims that keep pods from nodes, in PostFilter. */
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { PostFilterResult } from "../../framework/framework.ts";
import type { ClaimState } from "./claim-state.ts";
import type { ClaimStore } from "./claim-store.ts";
import { type Consumer, isReservedFor, unusedByOthers } from "./pod-claims.ts";

export interface FreeingOptions {
  readonly claims: ClaimStore;
  /** Between 0 and 1: there is no better rule which of several claims to free. */
  readonly random: () => number;
}

/**
 * Frees one claim that some node cannot use, if only the consumer uses it; else deletes what an earlier
 * attempt has left for extended resources. Upstream: deallocateOrDeletePodClaims.
 */
export async function freeIdleClaim(
  { unavailable, leftover }: ClaimState,
  consumer: Pick<Consumer, "uid">,
  { claims, random }: FreeingOptions,
): Promise<PostFilterResult> {
  const idle = [...unavailable].filter(({ claim }) => unusedByOthers(claim, consumer));
  const chosen = idle[Math.floor(random() * idle.length)];
  if (chosen !== undefined) {
    await claims.deallocate(chosen.claim);
    return { message: "deallocation of ResourceClaim completed" };
  }
  if (leftover === undefined) return {};
  await claims.delete(leftover);
  return { message: "deletion of ResourceClaim completed" };
}

/**
 * For a group of which no pod has a node: frees one claim that only the group may use; else takes back that
 * one of its claims is reserved for it, so that a later attempt can free that. Returns what was done.
 * Upstream: deallocatePodGroupClaims.
 */
export async function freeGroupClaim(
  states: readonly ClaimState[],
  { metadata }: PodGroup,
  { claims, random }: FreeingOptions,
): Promise<string | undefined> {
  const idle = states
    .flatMap(({ unavailable }) => [...unavailable])
    .filter(({ claim }) => unusedByOthers(claim, metadata));
  const chosen = idle[Math.floor(random() * idle.length)];
  if (chosen !== undefined) {
    await claims.deallocate(chosen.claim);
    return "deallocation of PodGroup ResourceClaim completed";
  }
  const reserved = states
    .flatMap((own) => own.claims)
    .find(({ claim, consumer }) => consumer.uid === metadata.uid && isReservedFor(claim, metadata));
  if (reserved === undefined) return undefined;
  await claims.release(reserved.claim, metadata);
  return "ResourceClaim unreserved for PodGroup";
}
