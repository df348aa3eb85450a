/** Claims whose devices are, or need, resources of the node (KEP-5517), in Filter. */
import type { Pod } from "@dray/api/core/v1";
import type { Rejection } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { allocatedClaims, allocationOf, type ClaimState, type GroupClaimState } from "./claim-state.ts";
import {
  type AllocatedClaim,
  type FindDevice,
  hasMappedDevice,
  nodeAllocatableStatuses,
  shortageOf,
  withStatuses,
} from "./node-allocatable.ts";
import { isReservedFor } from "./pod-claims.ts";

/**
 * Returns why a claim with a device that stands for resources of the node cannot be used by this pod as well.
 */
export function sharingProblem(
  { claims }: ClaimState,
  group: GroupClaimState | undefined,
  { metadata }: Pod,
  find: FindDevice,
): string | undefined {
  for (const entry of claims) {
    const { claim, consumer } = entry;
    const allocation = allocationOf(entry);
    const isReserved = (claim.status?.reservedFor?.length ?? 0) > 0 && !isReservedFor(claim, consumer);
    const others = [...(group?.sharers.get(claim.metadata.uid) ?? [])].filter((uid) => uid !== metadata.uid);
    if (allocation === undefined || (!isReserved && others.length === 0)) continue;
    if (!hasMappedDevice(allocation, find)) continue;
    return `node allocatable resource claim ${claim.metadata.name} has a mapped device and cannot be shared across pods`;
  }
  return undefined;
}

/**
 * Notes what the claims take of the node beside devices. Returns what the node lacks, if it has too little
 * left.
 */
export function takeFromNode(
  own: ClaimState,
  pod: Pod,
  info: NodeInfo,
  find: FindDevice,
): Omit<Rejection, "plugin"> | undefined {
  const result = own.filterResults.get(info.name);
  const byName = new Map<string, AllocatedClaim & { readonly entries: string[] }>();
  for (const [{ claim, entry }, allocation] of allocatedClaims(own, result)) {
    const claimed = claim.metadata.name;
    const known = byName.get(claimed);
    if (known !== undefined) known.entries.push(entry);
    else if (allocation !== undefined) byName.set(claimed, { name: claimed, entries: [entry], allocation });
  }
  const taken = nodeAllocatableStatuses(pod, [...byName.values()], find);
  if (taken.length === 0) return undefined;
  const shortage = shortageOf(withStatuses(pod, taken), info);
  if (shortage !== undefined) return shortage;
  own.filterResults.set(info.name, { allocations: [], ...result, taken });
  return undefined;
}
