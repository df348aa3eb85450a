import type { Pod } from "@dray/api/core/v1";
import { hasClaims } from "@dray/api/pod";
import type { DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Informer, keyOf } from "@dray/client";
import { isPod, isPodGroup } from "../shared/claim-consumers.ts";
import { DevicePools } from "../shared/pools.ts";
import type { Eviction } from "./evictions.ts";
import { podEviction } from "./pod-eviction.ts";

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
    const { namespace } = pod.metadata;
    return podEviction(pod, (name) => this.#caches.claims.get({ namespace, name }), {
      groupsHaveClaims: this.#groupsHaveClaims,
      sources: { pools: this.pools, rules },
    });
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
