import type { Pod } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim as Claim } from "@dray/api/resource/v1";
import { timeText } from "@dray/client";
import type { NodeInfo } from "../../framework/node-info.ts";
import { bindingDeadline, bindingState, hasBindingConditions } from "./binding-conditions.ts";
import type { ClaimState, PodClaim } from "./claim-state.ts";
import type { ClaimReservation, ClaimStore } from "./claim-store.ts";
import type { PendingAllocations } from "./pending-allocations.ts";
import { type Consumer, podConsumer } from "./pod-claims.ts";

/** How the wait for devices ended, in kube-scheduler's words. */
export type WaitStatus = "success" | "failure" | "timeout" | "error";

/** Counters of claims. Upstream: pkg/scheduler/metrics/metrics.go. */
export interface ClaimMetrics {
  /** The scheduler made a claim for extended resources, or failed to. */
  created(status: "success" | "failure"): void;
  /** A pod waited for devices of these claims. */
  waited(claims: readonly Claim[], status: WaitStatus, milliseconds: number): void;
}

export interface ClaimBindingOptions {
  readonly claims: ClaimStore;
  readonly pending: PendingAllocations;
  /** Milliseconds; undefined: devices are not waited for (gate DRADeviceBindingConditions). */
  readonly bindingTimeout: number | undefined;
  readonly event: ((pod: Pod, reason: string, message: string) => void) | undefined;
  readonly metrics: ClaimMetrics | undefined;
  readonly now: () => number;
}

/** The wait for devices has failed. */
class WaitError extends Error {
  readonly status: WaitStatus;

  constructor(status: WaitStatus, message: string) {
    super(message);
    this.status = status;
  }
}

/** PreBind: stores the allocations of Reserve, and waits until the devices are ready. */
export class ClaimBinding {
  readonly #options: ClaimBindingOptions;
  /** Claims that are being stored for a group, by uid. */
  readonly #storing = new Map<string, Promise<Claim>>();

  constructor(options: ClaimBindingOptions) {
    this.#options = options;
  }

  async bind(own: ClaimState, pod: Pod, node: NodeInfo): Promise<void> {
    const { claims, pending } = this.#options;
    for (const entry of own.claims) {
      entry.claim = await this.#store(entry);
      if (entry.allocation !== undefined) pending.stored(entry.claim.metadata.uid);
      delete entry.allocation;
    }
    for (const { claim, consumer } of own.claims) await claims.confirm(claim, consumer);
    const stored = own.claims.map(({ claim }) => claim);
    if (own.taken !== undefined) stored.push(await this.#storeExtended(own, own.taken, pod));
    const taken = own.filterResults.get(node.name)?.taken;
    if (taken !== undefined) {
      own.wroteTaken = true;
      await claims.setTaken(pod, taken);
    }
    await this.#awaitDevices(stored, pod, node);
  }

  /** Pods of a group store a claim that they share one after the other: the first one writes. */
  async #store(entry: PodClaim): Promise<Claim> {
    const { uid } = entry.claim.metadata;
    await this.#storing.get(uid)?.catch(() => undefined);
    const work = this.#options.claims.store(entry.claim, this.#reservation(entry.consumer, entry.allocation));
    if (entry.consumer.resource !== "podgroups") return work;
    this.#storing.set(uid, work);
    try {
      return await work;
    } finally {
      if (this.#storing.get(uid) === work) this.#storing.delete(uid);
    }
  }

  #reservation(consumer: Consumer, allocation: AllocationResult | undefined): ClaimReservation {
    const { bindingTimeout, now } = this.#options;
    const allocationTimestamp = bindingTimeout === undefined ? undefined : timeText(now());
    return { consumer, allocation, allocationTimestamp };
  }

  /**
   * Stores the claim for extended resources. It has another uid than the one in memory, which keeps the
   * devices until the stored one is in the cache.
   */
  async #storeExtended(own: ClaimState, taken: NonNullable<ClaimState["taken"]>, pod: Pod): Promise<Claim> {
    const { claims, pending, metrics } = this.#options;
    const consumer = podConsumer(pod);
    try {
      own.created = await claims.create(taken.claim);
    } catch (error) {
      metrics?.created("failure");
      throw error;
    }
    metrics?.created("success");
    const claim = await claims.store(own.created, this.#reservation(consumer, taken.allocation));
    await claims.cached(claim);
    pending.release(taken.claim.metadata.uid);
    delete own.taken;
    await claims.confirm(claim, consumer);
    await claims.map(pod, claim, taken.mappings);
    return claim;
  }

  /**
   * Waits until the devices of all claims are ready for the node. Fails where one cannot be, or had its time.
   */
  async #awaitDevices(stored: readonly Claim[], pod: Pod, node: NodeInfo): Promise<void> {
    const { claims, bindingTimeout, event, metrics, now } = this.#options;
    if (bindingTimeout === undefined || claims.settled === undefined) return;
    if (!stored.some(hasBindingConditions)) return;
    const message = `waiting for binding conditions for device on node ${node.name}`;
    event?.(pod, "BindingConditionsPending", message);
    const began = now();
    let status: WaitStatus = "success";
    try {
      const settled = claims.settled.bind(claims);
      for (const claim of stored)
        await this.#awaitClaim(claim, settled, began + bindingTimeout, bindingTimeout);
    } catch (error) {
      status = error instanceof WaitError ? error.status : "error";
      throw error;
    } finally {
      metrics?.waited(stored, status, now() - began);
    }
  }

  async #awaitClaim(
    claim: Claim,
    settled: NonNullable<ClaimStore["settled"]>,
    latest: number,
    bindingTimeout: number,
  ): Promise<void> {
    const isDecided = (one: Claim): boolean =>
      one.status?.allocation === undefined || bindingState(one).type !== "waiting";
    const deadline = Math.min(latest, bindingDeadline(claim, bindingTimeout) ?? latest);
    const newest = isDecided(claim) ? claim : await settled(claim, isDecided, deadline);
    const { namespace, name } = claim.metadata;
    if (newest === undefined) throw new WaitError("error", `resourceclaim "${name}" not found`);
    if (newest.status?.allocation === undefined)
      throw new WaitError("error", `claim ${namespace}/${name} got deallocated elsewhere in the meantime`);
    const state = bindingState(newest);
    if (state.type === "failed") throw new WaitError("failure", state.message);
    if (state.type === "waiting") throw new WaitError("timeout", `device binding timeout: claim=${name}`);
  }
}
