import type { Allocator, Candidates, Reservation } from "@dray/allocator";
import { matchesNodeSelector } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { podClaimName } from "@dray/api/pod";
import type { AllocationResult, ResourceClaim as Claim, DeviceClass } from "@dray/api/resource/v1";
import { timeText } from "@dray/client";
import {
  type CycleState,
  normalizeByHighest,
  type Plugin,
  type PreFilterResult,
  type Rejection,
} from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";
import { bindingState, bindingTimeout, isLost } from "./binding-conditions.ts";
import type { ClaimStore, StoredClaim } from "./claim-store.ts";
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

interface State {
  readonly claims: readonly PodClaim[];
  /** What Filter found, by node. */
  readonly found: Map<string, { readonly allocations: readonly AllocationResult[] }>;
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
  const { allocator, claims, deviceClass, now, random } = options;
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
    if (found.claims.length === 0) return { type: "skip" };
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

  function filter(state: CycleState, _pod: Pod, { name: nodeName, node }: NodeInfo): Rejection | undefined {
    const own = state.get(name) as State;
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
    if (open.length === 0) return undefined;
    if (own.candidates?.has(nodeName) === false) return reject("cannot allocate all claims");
    const deadline = now() + filterTimeout;
    const result = allocator.allocate(node, open, { shouldStop: () => now() > deadline });
    switch (result.type) {
      case "allocated":
        own.found.set(nodeName, result);
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
  async function postFilter(state: CycleState, pod: Pod): Promise<string | undefined> {
    if (!hasClaims(pod)) return "no new claims to deallocate";
    const own = state.get(name) as State | undefined;
    const idle = [...(own?.unavailable ?? [])].filter(({ claim }) => unusedByOthers(claim, pod));
    const chosen = idle[Math.floor(random() * idle.length)];
    if (chosen === undefined) return "still not schedulable";
    await claims.deallocate(chosen.claim);
    return "deallocation of ResourceClaim completed";
  }

  function reserve(state: CycleState, _pod: Pod, node: NodeInfo): undefined {
    const own = state.get(name) as State | undefined;
    const open = own === undefined ? [] : openClaims(own);
    if (own === undefined || open.length === 0) return;
    const allocations = own.found.get(node.name)?.allocations;
    if (allocations === undefined) throw new Error(`claims were not allocated for node ${node.name}`);
    own.reservation = allocator.reserve(
      open.map(({ claim }) => claim),
      allocations,
    );
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
    land(own);
    // Another scheduler has bound the pod: what is reserved for it is in use.
    if ((pod.spec.nodeName ?? "") !== "") return;
    const written = own.claims.flatMap(({ stored }) => (stored?.written ? [stored.claim] : []));
    const results = await Promise.allSettled(written.map((claim) => claims.release(claim, pod)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async function preBind(state: CycleState, pod: Pod): Promise<void> {
    const own = state.get(name) as State | undefined;
    if (own === undefined) return;
    for (const entry of own.claims) entry.stored = await claims.store(entry.claim, pod, entry.allocation);
    own.reservation?.commit();
    land(own);
    for (const { stored } of own.claims) if (stored !== undefined) await claims.confirm(stored.claim, pod);
    for (const { stored } of own.claims) if (stored !== undefined) await ready(stored.claim);
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
