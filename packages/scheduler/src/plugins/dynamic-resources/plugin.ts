import { matchesNodeSelector } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import type { ResourceClaim as Claim } from "@dray/api/resource/v1";
import {
  type ClusterEvent,
  type CycleState,
  type GroupPostFilterResult,
  normalizeByHighest,
  type Plugin,
  type PostFilterResult,
  type PreFilterResult,
  type RefusedGroup,
  type Rejection,
} from "../../framework/framework.ts";
import { topologyKeyOf } from "../../framework/group-tree.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { PodGroups } from "../../podgroup/pod-groups.ts";
import { defaultBindingTimeout, isLost } from "./binding-conditions.ts";
import { ClaimBinding } from "./claim-binding.ts";
import { freeGroupClaim, freeIdleClaim } from "./claim-release.ts";
import {
  allocatedClaims,
  allocationOf,
  type ClaimState,
  type ExtendedResult,
  type GroupClaimState,
  groupClaims,
  nodesOfDevices,
  openClaims,
  type PodClaim,
  stateKey,
  stateOf,
} from "./claim-state.ts";
import { extendedClaim, extendedOn, hasServedResources } from "./extended-resources.ts";
import { type FindDevice, withStatuses } from "./node-allocatable.ts";
import { sharingProblem, takeFromNode } from "./node-shares.ts";
import type { DynamicResourcesOptions } from "./options.ts";
import { PendingAllocations } from "./pending-allocations.ts";
import {
  alternativesScore,
  type Consumer,
  claimsOf,
  consumerOf,
  hasAlternatives,
  isReservedFor,
  requestProblem,
} from "./pod-claims.ts";
import { mayHelpClaims } from "./queueing-hints.ts";
import { causeOf, maxCounted, type RefusedNode } from "./refusal-cause.ts";

/** Maximum number of consumers of one claim (ResourceClaimReservedForMaxSize). */
const maxConsumers = 256;
/** Milliseconds that one node may take (DynamicResourcesArgs.filterTimeout). */
const defaultFilterTimeout = 10_000;
/** Feature that a node declares if it can skip some calls of drivers. */
const optionalNodeOperations = "DRAOptionalNodeOperations";

const name = stateKey;

/** No other pod's end helps: devices are not preempted. */
function reject(reason: string): Rejection {
  return { plugin: name, reasons: [reason], resolvable: false };
}

/**
 * Gives pods the devices that their claims ask for (KEP-4381). Filter asks the allocator node by node;
 * Reserve keeps the devices in memory; PreBind writes allocation and reservation; Unreserve takes them back.
 * Upstream: pkg/scheduler/framework/plugins/dynamicresources.
 */
export class DynamicResources implements Plugin {
  readonly name = name;
  readonly #options: DynamicResourcesOptions;
  readonly #pending: PendingAllocations;
  /** Absent where groups have no claims. */
  readonly #groups: PodGroups | undefined;
  readonly #binding: ClaimBinding;
  readonly #filterTimeout: number;
  readonly #bindingTimeout: number;
  readonly #hasBindingConditions: boolean;
  readonly #hasNodeAllocatable: boolean;

  constructor(options: DynamicResourcesOptions) {
    const { allocator, features } = options;
    this.#options = options;
    this.#pending = options.pending ?? new PendingAllocations(allocator);
    this.#groups = features.enabled("DRAWorkloadResourceClaims") ? options.groups : undefined;
    const limited = features.enabled("DRASchedulerFilterTimeout");
    this.#filterTimeout = limited ? (options.filterTimeout ?? defaultFilterTimeout) : 0;
    this.#bindingTimeout = options.bindingTimeout ?? defaultBindingTimeout;
    this.#hasBindingConditions =
      features.enabled("DRADeviceBindingConditions") && features.enabled("DRAResourceClaimDeviceStatus");
    const { claims, event, metrics, now } = options;
    const bindingTimeout = this.#hasBindingConditions ? this.#bindingTimeout : undefined;
    const pending = this.#pending;
    this.#binding = new ClaimBinding({ claims, pending, bindingTimeout, event, metrics, now });
    // In 1.36 the fields of its devices had another form.
    this.#hasNodeAllocatable = features.enabled("DRANodeAllocatableResources") && features.version >= "1.37";
  }

  #claimsOf(pod: Pod): ReturnType<typeof claimsOf> {
    const find = (claimed: string): Claim | undefined =>
      this.#options.claims.get(pod.metadata.namespace, claimed);
    return claimsOf(pod, find, this.#groups !== undefined);
  }

  preEnqueue(pod: Pod): string | undefined {
    const found = this.#claimsOf(pod);
    return "problem" in found ? found.problem : undefined;
  }

  preFilter(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): PreFilterResult {
    const rejected = (reason: string): PreFilterResult => ({ type: "reject", rejection: reject(reason) });
    const { allocator, extendedClass, claims, newId } = this.#options;
    const found = this.#claimsOf(pod);
    if ("problem" in found) return rejected(found.problem);
    const hasExtended = hasServedResources(pod, extendedClass);
    if (found.claims.length === 0 && !hasExtended) return { type: "skip" };
    const group = this.#groups?.of(pod);
    const shared = groupClaims(state);
    const podClaims: PodClaim[] = [];
    for (const { entry, claim } of found.claims) {
      const consumer = consumerOf(pod, entry, group);
      const { uid } = claim.metadata;
      const pending = shared?.sharers.has(uid) ? this.#pending.get(uid) : undefined;
      const problem = pending === undefined ? this.#claimProblem(claim, consumer) : undefined;
      if (problem !== undefined) return rejected(problem);
      podClaims.push({ entry: entry.name, claim, consumer, pending });
    }
    const open = podClaims.flatMap((entry) => (allocationOf(entry) === undefined ? [entry.claim] : []));
    const own: ClaimState = {
      claims: podClaims,
      extended: hasExtended ? extendedClaim(pod, newId()) : undefined,
      leftover: hasExtended ? claims.extended(pod) : undefined,
      filterResults: new Map(),
      unavailable: new Set(),
      nodes,
      candidates: open.length > 0 ? allocator.candidates(open) : undefined,
    };
    state.set(name, own);
    shared?.pods.set(pod.metadata.uid, own);
    const allocations = podClaims.flatMap((entry) => allocationOf(entry) ?? []);
    const first = open.length === 0 && !hasExtended ? nodesOfDevices(allocations) : undefined;
    return { type: "continue", ...(first && { first }) };
  }

  /** Returns why the claim cannot be used for the pod on any node. */
  #claimProblem(claim: Claim, consumer: Consumer): string | undefined {
    const { namespace, name: claimed, uid } = claim.metadata;
    if (claim.status?.allocation !== undefined) {
      const isFull = (claim.status.reservedFor?.length ?? 0) >= maxConsumers;
      return isFull && !isReservedFor(claim, consumer) ? "resourceclaim in use" : undefined;
    }
    if (this.#pending.get(uid) !== undefined)
      return `resource claim ${namespace}/${claimed} is in the process of being allocated`;
    const { deviceClass, features } = this.#options;
    return requestProblem(claim, deviceClass, features.enabled("DRAPrioritizedList"));
  }

  filter(state: CycleState, pod: Pod, info: NodeInfo): Rejection | undefined {
    // PreFilter skips a pod without claims, and sets the state of any other.
    const own = stateOf(state)!;
    // Deleted after all nodes were rejected; then the pod is tried again.
    if (own.leftover !== undefined) return reject("cannot schedule extended resource claim");
    const { extendedClass } = this.#options;
    const extended = own.extended && extendedOn(own.extended, pod, info.allocatable, extendedClass);
    if (typeof extended === "string") return reject(extended);
    const shared = this.#hasNodeAllocatable
      ? sharingProblem(own, groupClaims(state), pod, this.#finder(info.node))
      : undefined;
    if (shared !== undefined) return reject(shared);
    const unavailable = own.claims.filter((entry) => !this.#isAvailable(entry, info.node));
    const open = openClaims(own).map(({ claim }) => claim);
    if (extended !== undefined) open.push(extended.claim);
    // Before a claim counts as unavailable: an error of the allocator ends the attempt, and what the node
    // lacks for other claims is not mended by freeing this one.
    const rejection = this.#allocate(own, info, open, extended) ?? this.#takeFromNode(own, pod, info);
    if (rejection !== undefined) {
      own.filterResults.delete(info.name);
      return rejection;
    }
    for (const entry of unavailable) own.unavailable.add(entry);
    return unavailable.length > 0 ? reject("resourceclaim not available on the node") : undefined;
  }

  /** Reports whether a claim that is allocated can be used on the node. */
  #isAvailable(entry: PodClaim, node: Node): boolean {
    const { claim } = entry;
    const allocation = allocationOf(entry);
    if (allocation === undefined) return true;
    const { nodeSelector } = allocation;
    if (nodeSelector !== undefined && !matchesNodeSelector(nodeSelector, node)) return false;
    const skips = allocation.devices?.results?.some(({ skipNodeOperations }) => skipNodeOperations?.length);
    if (skips && !node.status?.declaredFeatures?.includes(optionalNodeOperations)) return false;
    return !this.#hasBindingConditions || !isLost(claim, this.#bindingTimeout, this.#options.now());
  }

  #allocate(
    own: ClaimState,
    { name: nodeName, node }: NodeInfo,
    open: readonly Claim[],
    extended: ExtendedResult | undefined,
  ): Rejection | undefined {
    if (open.length === 0) return undefined;
    if (own.candidates?.has(nodeName) === false) return reject("cannot allocate all claims");
    const { allocator, now, features } = this.#options;
    const deadline = this.#filterTimeout > 0 ? now() + this.#filterTimeout : Number.POSITIVE_INFINITY;
    const result = allocator.allocate(node, open, { shouldStop: () => now() > deadline });
    switch (result.type) {
      case "allocated":
        own.filterResults.set(nodeName, { allocations: result.allocations, ...(extended && { extended }) });
        return undefined;
      case "refused":
        return reject(result.message);
      case "stopped":
        if (features.version < "1.36")
          return { ...reject("timed out trying to allocate devices"), transient: true };
        throw new Error(`node ${nodeName}: timed out trying to allocate devices`);
      case "error":
        throw new Error(result.message);
    }
  }

  readonly #finder =
    (node: Node): FindDevice =>
    (result) =>
      this.#options.allocator.device(node, result);

  #takeFromNode(own: ClaimState, pod: Pod, info: NodeInfo): Rejection | undefined {
    if (!this.#hasNodeAllocatable) return undefined;
    const shortage = takeFromNode(own, pod, info, this.#finder(info.node));
    return shortage && { plugin: name, ...shortage };
  }

  /** Deallocates one claim that keeps the pod from a node, if it has no other user. */
  async postFilter(
    state: CycleState,
    pod: Pod,
    rejections: ReadonlyMap<string, Rejection>,
  ): Promise<PostFilterResult> {
    const own = stateOf(state);
    // Since 1.37 there is no message if nothing was done.
    const isSilent = this.#options.features.version >= "1.37";
    if (own === undefined) return isSilent ? {} : { message: "no new claims to deallocate" };
    const done = await freeIdleClaim(own, pod.metadata, this.#options);
    if (done.message !== undefined) return done;
    return {
      ...(!isSilent && { message: "still not schedulable" }),
      cause: () => causeOf(this.#options.allocator, this.#refused(own, pod, rejections)),
    };
  }

  /**
   * Some of the nodes that this plugin has rejected, whether it was asked about this pod or one like it:
   * first those that may have enough devices, each by itself.
   */
  #refused(own: ClaimState, pod: Pod, rejections: ReadonlyMap<string, Rejection>): readonly RefusedNode[] {
    const open = openClaims(own).map(({ claim }) => claim);
    const rejected = own.nodes.filter((node) => rejections.get(node.name)?.plugin === name);
    const [may, others] = [true, false].map((may) =>
      rejected.filter((node) => (own.candidates?.has(node.name) ?? true) === may),
    );
    return [...(may ?? []), ...(others ?? [])].slice(0, maxCounted).flatMap(({ node, allocatable }) => {
      const extended =
        own.extended && extendedOn(own.extended, pod, allocatable, this.#options.extendedClass);
      const claims = typeof extended === "object" ? [...open, extended.claim] : open;
      return claims.length > 0 ? [{ node, claims }] : [];
    });
  }

  /**
   * Frees a claim that keeps pods of the group from nodes; else, where no pod of the group has a node, takes
   * back that its claims are reserved for it, so that a later attempt can free them.
   * Upstream: PodGroupPostFilter.
   */
  async postFilterGroup({ group, state, pods }: RefusedGroup): Promise<GroupPostFilterResult> {
    const shared = state.get(name) as GroupClaimState | undefined;
    // Which devices a group has in one placement says nothing about those of another.
    if (shared === undefined || group.type !== "podgroup" || topologyKeyOf(group) !== undefined) return {};
    let isStuck = false;
    let message: string | undefined;
    for (const pod of pods) {
      const own = shared.pods.get(pod.metadata.uid);
      if (own === undefined) continue;
      const done = await freeIdleClaim(own, pod.metadata, this.#options);
      if (done.message === undefined) isStuck = true;
      else message = "deallocation and deletion of ResourceClaims completed";
    }
    if (isStuck && this.#groups?.placed(group.object).length === 0)
      message = (await freeGroupClaim([...shared.pods.values()], group.object, this.#options)) ?? message;
    return { ...(message !== undefined && { message }) };
  }

  score(state: CycleState, _pod: Pod, node: NodeInfo): number {
    const own = stateOf(state);
    const result = own?.filterResults.get(node.name);
    if (own === undefined || result === undefined) return 0;
    const all = own.claims.map(({ claim }) => claim);
    if (!all.some(hasAlternatives)) return 0;
    const allocations = [...allocatedClaims(own, result)].map(([, allocation]) => allocation);
    return alternativesScore(all, allocations);
  }

  normalize(scores: Map<string, number>): void {
    normalizeByHighest(scores);
  }

  reserve(state: CycleState, { metadata }: Pod, node: NodeInfo): undefined {
    const own = stateOf(state);
    if (own === undefined) return;
    const open = openClaims(own);
    const result = own.filterResults.get(node.name);
    if (result === undefined && open.length > 0)
      throw new Error(`claims were not allocated for node ${node.name}`);
    const sharers = groupClaims(state)?.sharers;
    for (const [entry, allocation] of allocatedClaims(own, result)) {
      if (entry.claim.status?.allocation !== undefined || allocation === undefined) continue;
      this.#pending.take(entry.claim, allocation);
      entry.allocation = allocation;
      const { uid } = entry.claim.metadata;
      sharers?.set(uid, (sharers.get(uid) ?? new Set()).add(metadata.uid));
    }
    if (result?.extended !== undefined) {
      const allocation = result.allocations[open.length]!;
      this.#pending.take(result.extended.claim, allocation);
      own.taken = { ...result.extended, allocation };
    }
  }

  /** The pod counts on its node with the resources that its claims take there. */
  assume(state: CycleState, pod: Pod, node: NodeInfo): Pod {
    const taken = stateOf(state)?.filterResults.get(node.name)?.taken;
    return taken === undefined ? pod : withStatuses(pod, taken);
  }

  undo(state: CycleState, pod: Pod): void {
    const own = stateOf(state);
    if (own === undefined) return;
    const sharers = groupClaims(state)?.sharers;
    for (const entry of own.claims) {
      const { uid } = entry.claim.metadata;
      if (entry.allocation !== undefined) {
        sharers?.get(uid)?.delete(pod.metadata.uid);
        if (this.#pending.release(uid)) sharers?.delete(uid);
      }
      delete entry.allocation;
    }
    if (own.taken !== undefined) this.#pending.release(own.taken.claim.metadata.uid);
    delete own.taken;
  }

  async unreserve(state: CycleState, pod: Pod): Promise<void> {
    const own = stateOf(state);
    if (own === undefined) return;
    // Another scheduler has bound the pod: what is reserved for it is in use.
    if ((pod.spec.nodeName ?? "") !== "") return;
    const { claims } = this.#options;
    const reserved = own.claims.filter(({ claim }) => isReservedFor(claim, pod.metadata));
    const results = await Promise.allSettled([
      ...reserved.map(({ claim }) => claims.release(claim, pod.metadata)),
      ...(own.created === undefined ? [] : [claims.delete(own.created)]),
      ...(own.wroteTaken ? [claims.setTaken(pod, [])] : []),
    ]);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async preBind(state: CycleState, pod: Pod, node: NodeInfo): Promise<void> {
    const own = stateOf(state);
    if (own !== undefined) await this.#binding.bind(own, pod, node);
  }

  mayHelp(pod: Pod, event: ClusterEvent): boolean {
    // A deleted pod may free cpu or memory that a device stands for.
    if (event.kind === "assigned-pod" && event.change === "delete") return this.#hasNodeAllocatable;
    return mayHelpClaims(pod, event, (one) => !("problem" in this.#claimsOf(one)));
  }
}
