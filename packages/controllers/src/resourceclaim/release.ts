import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim, type ResourceClaimConsumerReference } from "@dray/api/resource/v1";
import { hasReached, refOf } from "@dray/client";
import { isPod, isPodGroup } from "../shared/claim-consumers.ts";
import type { ControllerContext } from "../shared/context.ts";
import { controllerOf } from "../shared/owners.ts";
import { isDone } from "../shared/pods.ts";
import { refTo } from "../shared/status.ts";
import type { ClaimCaches } from "./caches.ts";

/** Keeps an allocated claim until its devices have been given back (resource/v1 Finalizer). */
const deleteProtection = "resource.kubernetes.io/delete-protection";
/** Maximum number of deleted consumers remembered: of those no request is needed. */
const maxDeleted = 500;

/**
 * Removes reservations of consumers that are gone, deallocates claims without consumers, and deletes
 * generated claims of finished pods.
 *
 * Upstream: pkg/controller/resourceclaim/controller.go, syncClaim.
 */
export class ClaimRelease {
  readonly #context: ControllerContext;
  readonly #caches: ClaimCaches;
  readonly #deleted = new Set<string>();

  constructor(context: ControllerContext, caches: ClaimCaches) {
    this.#context = context;
    this.#caches = caches;
  }

  /** A consumer is gone for good. */
  noteDeleted(uid: string): void {
    if (this.#deleted.size >= maxDeleted) this.#deleted.delete(this.#deleted.values().next().value ?? "");
    this.#deleted.add(uid);
  }

  async reconcile(key: string): Promise<void> {
    const { claims } = this.#caches;
    const seen = claims.get(refOf(key));
    if (seen === undefined) return;
    const reservedFor = seen.status?.reservedFor ?? [];
    const valid: typeof reservedFor = [];
    for (const consumer of reservedFor) if (await this.#isInUse(seen, consumer)) valid.push(consumer);
    const claim = await this.#release(seen, valid);
    const unused = valid.length === 0 && claim.metadata.deletionTimestamp === undefined;
    if (unused && this.#isLeftOver(claim)) await this.#delete(claim);
    // The cache must have the write before this claim is processed again; a deleted claim never is.
    await claims.until(
      () => claims.get(refOf(key))?.metadata.uid !== claim.metadata.uid || hasReached(claims, claim),
    );
  }

  /**
   * Keeps only these reservations; with the last one the devices go, in the same write, and then the
   * finalizer.
   */
  async #release(
    claim: ResourceClaim,
    valid: readonly ResourceClaimConsumerReference[],
  ): Promise<ResourceClaim> {
    const resource = this.#context.client.resource(ResourceClaim);
    const { metadata, status = {} } = claim;
    const wasUsed = valid.length < (status.reservedFor?.length ?? 0);
    const isProtected = metadata.finalizers?.includes(deleteProtection) === true;
    // Only what was in use is given back: whoever allocates need not reserve in the same write.
    const giveBack =
      valid.length === 0 && isProtected && (wasUsed || metadata.deletionTimestamp !== undefined);
    let released = claim;
    if (wasUsed || (giveBack && status.allocation !== undefined)) {
      const { reservedFor: _, allocation, devices, ...rest } = status;
      const kept = giveBack
        ? {}
        : {
            ...(allocation === undefined ? {} : { allocation }),
            ...(devices === undefined ? {} : { devices }),
          };
      const left = valid.length === 0 ? {} : { reservedFor: [...valid] };
      // A PUT of the state that was judged, so that it fails if anything has changed since.
      released = await resource.update(
        { ...claim, status: { ...rest, ...kept, ...left } },
        { subresource: "status" },
      );
    }
    if (!giveBack || released.status?.allocation !== undefined) return released;
    const finalizers =
      released.metadata.finalizers?.filter((finalizer) => finalizer !== deleteProtection) ?? [];
    return resource.update({ ...released, metadata: { ...released.metadata, finalizers } });
  }

  async #isInUse(claim: ResourceClaim, consumer: ResourceClaimConsumerReference): Promise<boolean> {
    const { pods, groups, groupKind, groupsHaveClaims } = this.#caches;
    const { client } = this.#context;
    const ref = { namespace: claim.metadata.namespace, name: consumer.name };
    if (isPod(consumer)) {
      if (this.#deleted.has(consumer.uid)) return false;
      const pod = pods.get(ref);
      if (pod?.metadata.uid === consumer.uid) return !isDone(pod);
      // The cache may not have it yet, or one before it of the same name; the scheduler may be about to bind
      // it.
      return isThere(consumer, () => client.resource(Pod).get(ref));
    }
    if (isPodGroup(consumer) && groupsHaveClaims && groups !== undefined && groupKind !== undefined) {
      if (this.#deleted.has(consumer.uid)) return false;
      if (groups.get(ref)?.metadata.uid === consumer.uid) return true;
      return isThere(consumer, () => client.resource(groupKind).get(ref));
    }
    // Nothing is known here of other consumers: their reservations stay.
    return true;
  }

  /**
   * Generated for a pod that is finished or was replaced. If the pod is not there, the garbage collector
   * decides.
   */
  #isLeftOver(claim: ResourceClaim): boolean {
    const owner = controllerOf(claim);
    if (owner?.kind !== "Pod" || owner.apiVersion !== "v1") return false;
    const pod = this.#caches.pods.get({ namespace: claim.metadata.namespace, name: owner.name });
    return pod !== undefined && (pod.metadata.uid !== owner.uid || isDone(pod));
  }

  async #delete(claim: ResourceClaim): Promise<void> {
    const preconditions = { uid: claim.metadata.uid };
    try {
      await this.#context.client.resource(ResourceClaim).delete(refTo(claim), { preconditions });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }
}

/** Reports whether the server has this very consumer. */
async function isThere(
  { uid }: ResourceClaimConsumerReference,
  get: () => Promise<{ metadata: { uid: string } }>,
): Promise<boolean> {
  try {
    return (await get()).metadata.uid === uid;
  } catch (error) {
    if (StatusError.is(error, "NotFound")) return false;
    throw error;
  }
}
