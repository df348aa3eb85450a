import type { Allocator, Reservation } from "@dray/allocator";
import { matchesNodeSelector } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim as Claim, DeviceClass } from "@dray/api/resource/v1";
import type { Client, Informer } from "@dray/client";
import type { UntilAnswered } from "../answered.ts";
import {
  type CycleState,
  normalizeByHighest,
  type Plugin,
  type PreFilterResult,
  type Rejection,
} from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";
import { ClaimWriter, type StoredClaim } from "./claim-writer.ts";
import {
  alternativesScore,
  claimName,
  claimsOf,
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
  readonly allocations: Map<string, readonly AllocationResult[]>;
  /** Claims with an allocation that some node cannot use. */
  readonly unavailable: Set<PodClaim>;
  reservation?: Reservation;
}

export interface DynamicResourcesOptions {
  readonly client: Client;
  readonly allocator: Allocator;
  /** With the index `device`: `claimsByDevice`. */
  readonly claims: Informer<Claim>;
  readonly classes: Informer<DeviceClass>;
  readonly untilAnswered: UntilAnswered;
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
  const { client, allocator, claims, classes, untilAnswered, now, random } = options;
  /** Claims between Reserve and the end of PreBind, by uid. */
  const inFlight = new Set<string>();
  /** Claims as the server answered them to us, by uid, until the cache has them. */
  const ahead = new Map<string, Claim>();

  const isNewer = (a: Claim, b: Claim): boolean =>
    BigInt(a.metadata.resourceVersion) > BigInt(b.metadata.resourceVersion);

  /** Takes note of a claim that the server answered, before the watch brings it. */
  function learn(claim: Claim): void {
    const cached = claims.get({ namespace: claim.metadata.namespace!, name: claim.metadata.name });
    if (cached?.metadata.uid !== claim.metadata.uid || !isNewer(claim, cached)) return;
    ahead.set(claim.metadata.uid, claim);
    allocator.update({ kind: "claim", object: claim, deleted: false });
  }

  claims.handle({
    update(claim) {
      const known = ahead.get(claim.metadata.uid);
      if (known !== undefined && !isNewer(known, claim)) ahead.delete(claim.metadata.uid);
    },
    delete: (claim) => ahead.delete(claim.metadata.uid),
  });

  const writer = new ClaimWriter({ client, claims, untilAnswered, learn });

  const podClaims = (pod: Pod): ReturnType<typeof claimsOf> =>
    claimsOf(pod, (claimed) => {
      const cached = claims.get({ namespace: pod.metadata.namespace!, name: claimed });
      return cached && (ahead.get(cached.metadata.uid) ?? cached);
    });

  const hasClaims = (pod: Pod): boolean =>
    (pod.spec.resourceClaims ?? []).some((entry) => claimName(pod, entry) !== null);

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
      const problem = missingClass(claim, (className) => classes.get({ name: className }));
      if (problem !== undefined) return rejected(problem);
    }
    const own: State = {
      claims: found.claims.map((claim) => ({ claim })),
      allocations: new Map(),
      unavailable: new Set(),
    };
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
      if (selector === undefined || matchesNodeSelector(selector, node)) continue;
      own.unavailable.add(entry);
      elsewhere = true;
    }
    if (elsewhere) return reject("resourceclaim not available on the node");
    const open = openClaims(own).map(({ claim }) => claim);
    if (open.length === 0) return undefined;
    const deadline = now() + filterTimeout;
    const result = allocator.allocate(node, open, { shouldStop: () => now() > deadline });
    switch (result.type) {
      case "allocated":
        own.allocations.set(nodeName, result.allocations);
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
    await writer.deallocate(chosen.claim);
    return "deallocation of ResourceClaim completed";
  }

  function reserve(state: CycleState, _pod: Pod, node: NodeInfo): undefined {
    const own = state.get(name) as State | undefined;
    const open = own === undefined ? [] : openClaims(own);
    if (own === undefined || open.length === 0) return;
    const allocations = own.allocations.get(node.name);
    if (allocations === undefined) throw new Error(`claims were not allocated for node ${node.name}`);
    own.reservation = allocator.reserve(
      open.map(({ claim }) => claim),
      allocations,
    );
    open.forEach((entry, i) => {
      entry.allocation = allocations[i]!;
      inFlight.add(entry.claim.metadata.uid);
    });
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
    const results = await Promise.allSettled(written.map((claim) => writer.release(claim, pod)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async function preBind(state: CycleState, pod: Pod): Promise<void> {
    const own = state.get(name) as State | undefined;
    if (own === undefined) return;
    for (const entry of own.claims) entry.stored = await writer.store(entry.claim, pod, entry.allocation);
    own.reservation?.commit();
    land(own);
    for (const { stored } of own.claims) if (stored !== undefined) await writer.confirm(stored.claim, pod);
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
      return alternativesScore(open, own.allocations.get(node.name) ?? []);
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
            (pod.spec.resourceClaims ?? []).some((entry) => claimName(pod, entry) === event.name)
          );
        case "assigned-pod":
          return false;
      }
    },
  };
}
