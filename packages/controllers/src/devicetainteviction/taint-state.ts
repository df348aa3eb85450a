import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims, hasClaims, isPodTerminal } from "@dray/api/pod";
import type { DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Informer, keyOf } from "@dray/client";
import { isForPod, isPod, isPodGroup, isReservedForPod } from "../shared/claim-consumers.ts";
import { DevicePools } from "../shared/pools.ts";
import { claimEviction, type Eviction, joinEvictions, type TaintSources } from "./evictions.ts";

export interface TaintCaches {
  readonly pods: Informer<Pod>;
  readonly claims: Informer<ResourceClaim>;
  readonly slices: Informer<ResourceSlice>;
  readonly rules?: Informer<DeviceTaintRule>;
}

/** Taints of devices and pods, from the caches; its only state are the slices by pool. */
export class TaintState {
  readonly pools = new DevicePools();
  readonly #caches: TaintCaches;
  readonly #groupsHaveClaims: boolean;

  constructor(caches: TaintCaches, groupsHaveClaims: boolean) {
    this.#caches = caches;
    this.#groupsHaveClaims = groupsHaveClaims;
  }

  /** The rules that evict. */
  evictingRules(): DeviceTaintRule[] {
    return (this.#caches.rules?.list() ?? []).filter(({ spec }) => spec.taint?.effect === "NoExecute");
  }

  get claims(): readonly ResourceClaim[] {
    return this.#caches.claims.list();
  }

  /** Pods that may have devices. */
  *users(): Generator<Pod> {
    for (const pod of this.#caches.pods.list()) if (hasClaims(pod)) yield pod;
  }

  /** When the pod has to go because of its claims; undefined: it may stay. */
  podEviction(pod: Pod, rules: readonly DeviceTaintRule[] = this.evictingRules()): Eviction | undefined {
    const { deletionTimestamp, namespace } = pod.metadata;
    if (!pod.spec.nodeName || deletionTimestamp !== undefined || isPodTerminal(pod)) return undefined;
    const sources: TaintSources = { pools: this.pools, rules };
    let eviction: Eviction | undefined;
    // Those of extended resources too: kubernetes/kubernetes#141290, upstream from 1.37.2 on.
    for (const { name, owned } of createdPodClaims(pod)) {
      const claim = this.#caches.claims.get({ namespace, name });
      if (claim?.status?.allocation === undefined) continue;
      if (owned && !isForPod(pod, claim, this.#groupsHaveClaims)) continue;
      if (!isReservedForPod(pod, claim, this.#groupsHaveClaims)) continue;
      eviction = joinEvictions(eviction, claimEviction(claim, sources));
    }
    return eviction;
  }

  /** The pods that a claim is reserved for, by themselves or by their group. */
  usersOf({ metadata: { namespace }, status }: ResourceClaim): Pod[] {
    const { pods } = this.#caches;
    return (status?.reservedFor ?? []).flatMap((consumer) => {
      if (isPod(consumer)) return pods.get({ namespace, name: consumer.name }) ?? [];
      if (!isPodGroup(consumer) || !this.#groupsHaveClaims) return [];
      return pods.byIndex("podGroup", keyOf({ namespace, name: consumer.name }));
    });
  }
}
