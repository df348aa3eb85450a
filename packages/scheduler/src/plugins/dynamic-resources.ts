import type { Allocator, Candidates, Reservation } from "@dray/allocator";
import { matchesNodeSelector } from "@dray/api";
import type { ContainerExtendedResourceRequest, Pod } from "@dray/api/core/v1";
import { podClaimName } from "@dray/api/pod";
import type { AllocationResult, ResourceClaim as Claim, DeviceClass } from "@dray/api/resource/v1";
import { timeText } from "@dray/client";
import {
  type CycleState,
  normalizeByHighest,
  type Plugin,
  type PostFilterResult,
  type PreFilterResult,
  type Rejection,
} from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";
import { requestsOf } from "../resources.ts";
import { bindingState, bindingTimeout, isLost } from "./binding-conditions.ts";
import type { ClaimStore, StoredClaim } from "./claim-store.ts";
import {
  type ExtendedClass,
  extendedClaim,
  extendedRequests,
  hasServedResources,
  isExtended,
  servedResources,
} from "./extended-resources.ts";
import {
  alternativesScore,
  claimsOf,
  hasAlternatives,
  missingClass,
  reservedFor,
  unusedByOthers,
} from "./pod-claims.ts";

/** Most consumers of one claim (ResourceClaimReservedForMaxSize). */
const mostConsumers = 256;
/** Milliseconds that one node may take (KubeSchedulerConfiguration DynamicResourcesArgs.filterTimeout). */
const filterTimeout = 10_000;

const name = "DynamicResources";

interface PodClaim {
  readonly claim: Claim;
  /** Set by Reserve for claims that had no allocation. */
  allocation?: AllocationResult;
  /** What PreBind made of it. */
  stored?: StoredClaim;
}

/** What a node would give a pod for its extended resources. */
interface ExtendedAnswer {
  readonly claim: Claim;
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

/** What Filter found on a node: an allocation for each open claim, and one more for `extended`. */
interface Found {
  readonly allocations: readonly AllocationResult[];
  readonly extended?: ExtendedAnswer;
}

interface State {
  readonly claims: readonly PodClaim[];
  /** The claim for extended resources that devices may serve, without its requests. */
  readonly extended: Claim | undefined;
  /** The claim that an earlier attempt has left; it is not used again. */
  readonly leftover: Claim | undefined;
  /** What Reserve took for extended resources, and what PreBind made of it. */
  taken?: ExtendedAnswer & {
    readonly allocation: AllocationResult;
    readonly reservation: Reservation;
  };
  /** The claim that PreBind stored for extended resources. */
  created?: Claim;
  /** What Filter found, by node. */
  readonly found: Map<string, Found>;
  /** Claims with an allocation that some node cannot use. */
  readonly unavailable: Set<PodClaim>;
  /** Nodes that may have devices for the claims without an allocation; undefined: any may. */
  candidates: Candidates | undefined;
  reservation?: Reservation;
}

export interface DynamicResourcesOptions {
  readonly allocator: Allocator;
  readonly claims: ClaimStore;
  readonly deviceClass: (name: string) => DeviceClass | undefined;
  /** Undefined: extended resources are not served by devices (gate DRAExtendedResource). */
  readonly extendedClass?: ExtendedClass;
  /** Fresh lowercase UUIDs. */
  readonly newId: () => string;
  readonly now: () => number;
  readonly random: () => number;
}

function reject(reason: string): Rejection {
  // Devices are not preempted.
  return { plugin: name, reasons: [reason], resolvable: false };
}

/**
 * Gives pods the devices that their claims ask for (KEP-4381). Filter asks the allocator node by node; Reserve keeps
 * the devices in memory; PreBind writes allocation and reservation; Unreserve takes them back.
 */
export function dynamicResources(options: DynamicResourcesOptions): Plugin {
  const { allocator, claims, deviceClass, extendedClass, newId, now, random } = options;
  /** Claims between Reserve and the end of PreBind, by uid. */
  const inFlight = new Set<string>();

  const podClaims = (pod: Pod): ReturnType<typeof claimsOf> =>
    claimsOf(pod, (claimed) => claims.get(pod.metadata.namespace, claimed));

  const hasClaims = (pod: Pod): boolean =>
    (pod.spec.resourceClaims ?? []).some((entry) => podClaimName(pod, entry) !== null);

  function preFilter(state: CycleState, pod: Pod): PreFilterResult {
    const rejected = (reason: string): PreFilterResult => ({ type: "reject", rejection: reject(reason) });
    const found = podClaims(pod);
    if ("problem" in found) return rejected(found.problem);
    const extended = hasServedResources(pod, extendedClass);
    if (found.claims.length === 0 && !extended) return { type: "skip" };
    for (const claim of found.claims) {
      const { namespace, name: claimed, uid } = claim.metadata;
      if (claim.status?.allocation !== undefined) {
        const full = (claim.status.reservedFor?.length ?? 0) >= mostConsumers;
        if (full && !reservedFor(claim, pod)) return rejected("resourceclaim in use");
        continue;
      }
      if (inFlight.has(uid)) {
        return rejected(`resource claim ${namespace}/${claimed} is in the process of being allocated`);
      }
      const problem = missingClass(claim, deviceClass);
      if (problem !== undefined) return rejected(problem);
    }
    const own: State = {
      claims: found.claims.map((claim) => ({ claim })),
      extended: extended ? extendedClaim(pod, newId()) : undefined,
      leftover: extended ? claims.extended(pod) : undefined,
      found: new Map(),
      unavailable: new Set(),
      candidates: undefined,
    };
    const open = openClaims(own).map(({ claim }) => claim);
    if (open.length > 0) own.candidates = allocator.candidates(open);
    state.set(name, own);
    return { type: "continue" };
  }

  const openClaims = (own: State): readonly PodClaim[] =>
    own.claims.filter(({ claim }) => claim.status?.allocation === undefined);

  /** The claim for what this node has to serve with devices; undefined if there is nothing. A reason: it cannot. */
  function extendedOn(own: State, pod: Pod, { allocatable }: NodeInfo): ExtendedAnswer | string | undefined {
    if (own.extended === undefined) return undefined;
    const served = servedResources(pod, allocatable, extendedClass);
    for (const [resource, amount] of requestsOf(pod)) {
      if (amount === 0 || !isExtended(resource) || served.has(resource)) continue;
      if (allocatable.get(resource) === undefined) return "cannot fit resource";
    }
    if (served.size === 0) return undefined;
    const { requests, mappings } = extendedRequests(pod, served);
    const spec = { devices: { requests } };
    return { claim: { ...own.extended, spec } as Claim, mappings };
  }

  function filter(state: CycleState, pod: Pod, info: NodeInfo): Rejection | undefined {
    const { name: nodeName, node } = info;
    const own = state.get(name) as State;
    // Deleted after all nodes were rejected; then the pod is tried again.
    if (own.leftover !== undefined) return reject("cannot schedule extended resource claim");
    const extended = extendedOn(own, pod, info);
    if (typeof extended === "string") return reject(extended);
    let elsewhere = false;
    for (const entry of own.claims) {
      const selector = entry.claim.status?.allocation?.nodeSelector;
      const fits = selector === undefined || matchesNodeSelector(selector, node);
      if (fits && !isLost(entry.claim, now())) continue;
      own.unavailable.add(entry);
      elsewhere = true;
    }
    if (elsewhere) return reject("resourceclaim not available on the node");
    const open = openClaims(own).map(({ claim }) => claim);
    if (extended !== undefined) open.push(extended.claim);
    if (open.length === 0) return undefined;
    if (own.candidates?.has(nodeName) === false) return reject("cannot allocate all claims");
    const deadline = now() + filterTimeout;
    const result = allocator.allocate(node, open, { shouldStop: () => now() > deadline });
    switch (result.type) {
      case "allocated":
        own.found.set(nodeName, { allocations: result.allocations, ...(extended && { extended }) });
        return undefined;
      case "refused":
        return reject(result.message);
      case "stopped":
        throw new Error(`node ${nodeName}: timed out trying to allocate devices`);
      case "error":
        throw new Error(result.message);
    }
  }

  /** Frees one allocated claim that keeps the pod from a node, if nobody else uses it. */
  async function postFilter(state: CycleState, pod: Pod): Promise<PostFilterResult> {
    const own = state.get(name) as State | undefined;
    if (!hasClaims(pod) && own?.extended === undefined) return { message: "no new claims to deallocate" };
    const idle = [...(own?.unavailable ?? [])].filter(({ claim }) => unusedByOthers(claim, pod));
    const chosen = idle[Math.floor(random() * idle.length)];
    if (chosen === undefined && own?.leftover !== undefined) {
      await claims.delete(own.leftover);
      return { message: "deletion of ResourceClaim completed" };
    }
    if (chosen === undefined) return { message: "still not schedulable" };
    await claims.deallocate(chosen.claim);
    return { message: "deallocation of ResourceClaim completed" };
  }

  function reserve(state: CycleState, _pod: Pod, node: NodeInfo): undefined {
    const own = state.get(name) as State | undefined;
    const open = own === undefined ? [] : openClaims(own);
    if (own === undefined) return;
    const found = own.found.get(node.name);
    if (found === undefined && open.length === 0) return;
    if (found === undefined) throw new Error(`claims were not allocated for node ${node.name}`);
    const { allocations, extended } = found;
    if (open.length > 0)
      own.reservation = allocator.reserve(
        open.map(({ claim }) => claim),
        allocations.slice(0, open.length),
      );
    if (extended !== undefined) {
      const allocation = allocations[open.length]!;
      const reservation = allocator.reserve([extended.claim], [allocation]);
      own.taken = { ...extended, allocation: stamped(allocation), reservation };
    }
    open.forEach((entry, i) => {
      entry.allocation = stamped(allocations[i]!);
      inFlight.add(entry.claim.metadata.uid);
    });
  }

  /** The time that devices have to become ready runs from here (KEP-5007). */
  function stamped(allocation: AllocationResult): AllocationResult {
    const binds = (allocation.devices?.results ?? []).some(
      (result) => result.bindingConditions !== undefined,
    );
    return binds ? { ...allocation, allocationTimestamp: timeText(now()) } : allocation;
  }

  /** Waits until all devices of a claim are ready for the node; else the claim gets others with the next attempt. */
  async function ready(stored: Claim): Promise<void> {
    if (bindingState(stored).type === "ready") return;
    const decided = (claim: Claim): boolean => bindingState(claim).type !== "waiting";
    const claim = await claims.settled(stored, decided, bindingTimeout);
    if (claim === undefined) return;
    const state = bindingState(claim);
    if (state.type === "failed") throw new Error(state.message);
    if (state.type === "waiting") throw new Error("device binding timeout");
  }

  /** What Reserve took is not in the making any more: it is stored, or nobody's. */
  function land(own: State): void {
    for (const entry of own.claims) {
      if (entry.allocation !== undefined) inFlight.delete(entry.claim.metadata.uid);
      delete entry.allocation;
    }
    delete own.reservation;
  }

  async function unreserve(state: CycleState, pod: Pod): Promise<void> {
    const own = state.get(name) as State | undefined;
    if (own === undefined) return;
    own.reservation?.rollback();
    own.taken?.reservation.rollback();
    land(own);
    // Another scheduler has bound the pod: what is reserved for it is in use.
    if ((pod.spec.nodeName ?? "") !== "") return;
    const written = own.claims.flatMap(({ stored }) => (stored?.written ? [stored.claim] : []));
    const results = await Promise.allSettled([
      ...written.map((claim) => claims.release(claim, pod)),
      ...(own.created === undefined ? [] : [claims.delete(own.created)]),
    ]);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /**
   * Stores the claim for extended resources. It has another uid than the one in memory, which keeps the devices until the
   * stored one is in the cache.
   */
  async function storeExtended(own: State, taken: NonNullable<State["taken"]>, pod: Pod): Promise<Claim> {
    own.created = await claims.create(taken.claim);
    const { claim } = await claims.store(own.created, pod, taken.allocation);
    await claims.confirm(claim, pod);
    taken.reservation.rollback();
    await claims.map(pod, claim, taken.mappings);
    return claim;
  }

  async function preBind(state: CycleState, pod: Pod): Promise<void> {
    const own = state.get(name) as State | undefined;
    if (own === undefined) return;
    for (const entry of own.claims) entry.stored = await claims.store(entry.claim, pod, entry.allocation);
    own.reservation?.commit();
    land(own);
    const stored = own.claims.flatMap((entry) => entry.stored?.claim ?? []);
    for (const claim of stored) await claims.confirm(claim, pod);
    if (own.taken !== undefined) stored.push(await storeExtended(own, own.taken, pod));
    for (const claim of stored) await ready(claim);
  }

  return {
    name,
    preEnqueue(pod) {
      const found = podClaims(pod);
      return "problem" in found ? found.problem : undefined;
    },
    preFilter,
    filter,
    postFilter,
    score(state, _pod, node) {
      const own = state.get(name) as State | undefined;
      if (own === undefined) return 0;
      const open = openClaims(own).map(({ claim }) => claim);
      if (!open.some(hasAlternatives)) return 0;
      return alternativesScore(open, own.found.get(node.name)?.allocations ?? []);
    },
    normalize: (scores) => normalizeByHighest(scores),
    reserve,
    unreserve,
    preBind,
    mayHelp(pod, event) {
      switch (event.kind) {
        case "volume":
          return false;
        case "node":
        case "class":
        case "slice":
        case "own-pod":
        case "released":
          return true;
        case "claim":
          if (event.freed) return true;
          return (
            pod.metadata.namespace === event.namespace &&
            (pod.spec.resourceClaims ?? []).some((entry) => podClaimName(pod, entry) === event.name)
          );
        case "assigned-pod":
          return false;
      }
    },
  };
}
