/** What DynamicResources keeps of a pod between the extension points of one attempt. */

import type { Candidates } from "@dray/allocator";
import type { ContainerExtendedResourceRequest, NodeAllocatableResourceClaimStatus } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type CycleState, groupStateOf } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { Consumer } from "./pod-claims.ts";
import { onlyNode } from "./pod-claims.ts";

export interface PodClaim {
  /** As PreFilter found it, then as PreBind stored it. */
  claim: ResourceClaim;
  /** The entry of `spec.resourceClaims` that names it. */
  readonly entry: string;
  readonly consumer: Consumer;
  /** What another pod of the group has reserved for the claim. */
  readonly pending: AllocationResult | undefined;
  /** Set by Reserve for a claim that had no allocation. */
  allocation?: AllocationResult;
}

/** What a node would give a pod for its extended resources. */
export interface ExtendedAnswer {
  readonly claim: ResourceClaim;
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

/** What Filter found on a node: an allocation for each open claim, and one more for `extended`. */
export interface NodeAnswer {
  readonly allocations: readonly AllocationResult[];
  readonly extended?: ExtendedAnswer;
  /** What the claims take of the node beside devices; absent: nothing. */
  readonly taken?: readonly NodeAllocatableResourceClaimStatus[];
}

export interface ClaimState {
  readonly claims: readonly PodClaim[];
  /** The claim for extended resources that devices may serve, without its requests. */
  readonly extended: ResourceClaim | undefined;
  /** The claim that an earlier attempt has left; it is not used again. */
  readonly leftover: ResourceClaim | undefined;
  /** By node. */
  readonly answers: Map<string, NodeAnswer>;
  /** Claims with an allocation that some node cannot use. */
  readonly unavailable: Set<PodClaim>;
  /** All nodes that there are. */
  readonly nodes: readonly NodeInfo[];
  /** Nodes that may have devices for the claims without an allocation; undefined: any may. */
  readonly candidates: Candidates | undefined;
  /** What Reserve took for extended resources. */
  taken?: ExtendedAnswer & { readonly allocation: AllocationResult };
  /** The claim that PreBind stored for them. */
  created?: ResourceClaim;
  /** Whether PreBind wrote on the pod what its claims take of the node. */
  wroteTaken?: boolean;
}

/** Each claim of the pod with the allocation that it has, or would have on the node. */
export function* allocatedClaims(
  { claims }: ClaimState,
  answer: Pick<NodeAnswer, "allocations"> | undefined,
): Generator<readonly [PodClaim, AllocationResult | undefined]> {
  let next = 0;
  for (const entry of claims) yield [entry, allocationOf(entry) ?? answer?.allocations[next++]];
}

/** What a claim has, or will have as soon as another pod of the group is bound. */
export function allocationOf({ claim, pending }: PodClaim): AllocationResult | undefined {
  return claim.status?.allocation ?? pending;
}

/** The claims that have no allocation yet. */
export function openClaims({ claims }: ClaimState): readonly PodClaim[] {
  return claims.filter((entry) => allocationOf(entry) === undefined);
}

/** What the pods of a group share while they are scheduled together. */
export interface GroupClaimState {
  /** The uids of the pods that share an allocation in the making, by the uid of its claim. */
  readonly sharers: Map<string, Set<string>>;
  /** By the uid of the pod. */
  readonly pods: Map<string, ClaimState>;
}

/** Name of the plugin, under which its state is kept. */
export const stateKey = "DynamicResources";

/** What the pod shares with others of its group; undefined: it is scheduled on its own. */
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

/** The node, if any, that alone can use the devices that claims have; undefined if that is not known of any. */
export function nodesOfDevices(claims: readonly PodClaim[]): ReadonlySet<string> | undefined {
  let nodes: ReadonlySet<string> | undefined;
  for (const entry of claims) {
    const node = onlyNode(allocationOf(entry)!);
    if (node !== undefined) nodes = nodes === undefined || nodes.has(node) ? new Set([node]) : new Set();
  }
  return nodes;
}

/** The state of the pod in this attempt; undefined if it has no claims. */
export const stateOf = (state: CycleState): ClaimState | undefined =>
  state.get(stateKey) as ClaimState | undefined;
