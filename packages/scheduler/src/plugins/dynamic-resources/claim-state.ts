/** State of DynamicResources for a pod between the extension points of one attempt. */

import type { Candidates } from "@dray/allocator";
import type { ContainerExtendedResourceRequest, NodeAllocatableResourceClaimStatus } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type CycleState, groupStateOf } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { type Consumer, onlyNode } from "./pod-claims.ts";

export interface PodClaim {
  /** As PreFilter found it, then as PreBind stored it. */
  claim: ResourceClaim;
  /** The entry of `spec.resourceClaims` that names it. */
  readonly entry: string;
  readonly consumer: Consumer;
  /** Allocation that another pod of the group has reserved for the claim. */
  readonly pending: AllocationResult | undefined;
  /** Set by Reserve for a claim that had no allocation. */
  allocation?: AllocationResult;
}

/** Claim that a node would serve a pod's extended resources with. */
export interface ExtendedResult {
  readonly claim: ResourceClaim;
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

/** Result of Filter on a node: an allocation for each open claim, and one more for `extended`. */
export interface FilterResult {
  readonly allocations: readonly AllocationResult[];
  readonly extended?: ExtendedResult;
  /** Resources of the node that the claims take beside devices; absent: none. */
  readonly taken?: readonly NodeAllocatableResourceClaimStatus[];
}

export interface ClaimState {
  readonly claims: readonly PodClaim[];
  /** The claim for extended resources that devices may serve, without its requests. */
  readonly extended: ResourceClaim | undefined;
  /** The claim that an earlier attempt has left; it is not used again. */
  readonly leftover: ResourceClaim | undefined;
  /** By node. */
  readonly filterResults: Map<string, FilterResult>;
  /** Claims with an allocation that some node cannot use. */
  readonly unavailable: Set<PodClaim>;
  /** All nodes that there are. */
  readonly nodes: readonly NodeInfo[];
  /** Nodes that may have devices for the claims without an allocation; undefined: any may. */
  readonly candidates: Candidates | undefined;
  /** Claim that Reserve took for extended resources. */
  taken?: ExtendedResult & { readonly allocation: AllocationResult };
  /** The claim that PreBind stored for them. */
  created?: ResourceClaim;
  /** Whether PreBind wrote on the pod what its claims take of the node. */
  wroteTaken?: boolean;
}

/** Each claim of the pod with the allocation that it has, or would have on the node. */
export function* allocatedClaims(
  { claims }: ClaimState,
  result: Pick<FilterResult, "allocations"> | undefined,
): Generator<readonly [PodClaim, AllocationResult | undefined]> {
  let next = 0;
  for (const entry of claims) yield [entry, allocationOf(entry) ?? result?.allocations[next++]];
}

/** Allocation of a claim, or the one that it will have when another pod of the group is bound. */
export function allocationOf({ claim, pending }: PodClaim): AllocationResult | undefined {
  return claim.status?.allocation ?? pending;
}

/** The claims that have no allocation yet. */
export function openClaims({ claims }: ClaimState): readonly PodClaim[] {
  return claims.filter((entry) => allocationOf(entry) === undefined);
}

/** State that the pods of a group share while they are scheduled together. */
export interface GroupClaimState {
  /** The uids of the pods that share an allocation in the making, by the uid of its claim. */
  readonly sharers: Map<string, Set<string>>;
  /** By the uid of the pod. */
  readonly pods: Map<string, ClaimState>;
}

/** Name of the plugin, under which its state is kept. */
export const stateKey = "DynamicResources";

/** State that the pod shares with its group; undefined: it is scheduled on its own. */
export function groupClaims(state: CycleState): GroupClaimState | undefined {
  const group = groupStateOf(state);
  if (group === undefined) return undefined;
  let shared = group.get(stateKey) as GroupClaimState | undefined;
  if (shared === undefined) {
    shared = { sharers: new Map(), pods: new Map() };
    group.set(stateKey, shared);
  }
  return shared;
}

/** The node, if any, that alone can use the allocated devices; undefined if that is not known of any. */
export function nodesOfDevices(allocations: readonly AllocationResult[]): ReadonlySet<string> | undefined {
  let nodes: ReadonlySet<string> | undefined;
  for (const allocation of allocations) {
    const node = onlyNode(allocation);
    if (node !== undefined) nodes = nodes === undefined || nodes.has(node) ? new Set([node]) : new Set();
  }
  return nodes;
}

/** The state of the pod in this attempt; undefined if it has no claims. */
export const stateOf = (state: CycleState): ClaimState | undefined =>
  state.get(stateKey) as ClaimState | undefined;
