import type {
  ContainerExtendedResourceRequest,
  NodeAllocatableResourceClaimStatus,
  Pod,
} from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Consumer, isReservedFor, sameDevices } from "./pod-claims.ts";

/** Input of `store`. */
export interface ClaimReservation {
  readonly consumer: Consumer;
  /** Set for a claim that has none. */
  readonly allocation: AllocationResult | undefined;
  /** Written with the allocation; undefined: never. */
  readonly allocationTimestamp: string | undefined;
}

/** Reports whether the claim is already what the reservation makes of it. */
export function isStored({ status }: ResourceClaim, { consumer, allocation }: ClaimReservation): boolean {
  if (status?.allocation === undefined || !isReservedFor({ status } as ResourceClaim, consumer)) return false;
  return allocation === undefined || sameDevices(status.allocation, allocation);
}

/** A copy of the claim that is reserved. Throws if neither the claim nor the reservation has devices. */
export function withReservation(
  claim: ResourceClaim,
  reservation: ClaimReservation,
): ResourceClaim & Required<Pick<ResourceClaim, "status">> {
  const { consumer, allocationTimestamp } = reservation;
  const made = reservation.allocation && {
    ...(allocationTimestamp !== undefined && { allocationTimestamp }),
    ...reservation.allocation,
  };
  // A stored allocation cannot be changed: one that a scheduler without binding conditions has made stays
  // without a time. kube-scheduler adds it, and the pods that share such a claim wait for ever.
  const allocation = claim.status?.allocation ?? made;
  if (allocation === undefined) throw new Error(`claim ${claim.metadata.name} is reserved without devices`);
  const status = {
    ...claim.status,
    allocation,
    reservedFor: [...(claim.status?.reservedFor ?? []), consumer],
  };
  return { ...claim, status };
}

/** Reads claims for DynamicResources, and writes its decisions. */
export interface ClaimStore {
  /** The newest state that is known. */
  get(namespace: string, name: string): ResourceClaim | undefined;
  /**
   * Reserves a claim, with an allocation if it has none, and the finalizer before that. Returns the stored
   * claim. Fails if the claim is not any more what the choice was made for.
   */
  store(known: ResourceClaim, reservation: ClaimReservation): Promise<ResourceClaim>;
  /** The claim that the scheduler made for the pod's extended resources, if it is stored. */
  extended(pod: Pod): ResourceClaim | undefined;
  /** Stores a claim for extended resources, under a name of its own. */
  create(claim: ResourceClaim): Promise<ResourceClaim>;
  /** Deletes a claim, and gives its devices back. */
  delete(claim: ResourceClaim): Promise<void>;
  /** Writes on the pod which of its containers have which devices of the claim (KEP-5004). */
  map(pod: Pod, claim: ResourceClaim, mappings: readonly ContainerExtendedResourceRequest[]): Promise<void>;
  /** Writes on the pod what its claims take of its node beside devices (KEP-5517). */
  setTaken(pod: Pod, taken: readonly NodeAllocatableResourceClaimStatus[]): Promise<void>;
  /** Waits until the cache has the claim as it was stored, or newer. */
  cached(stored: ResourceClaim): Promise<void>;
  /**
   * Fails, and gives the devices up, if other claims turn out to have them, or the counters or capacity that
   * they take.
   */
  confirm(stored: ResourceClaim, consumer: Consumer): Promise<void>;
  /**
   * Waits until a later state of the claim is decided, or until the deadline (milliseconds since the epoch).
   * Returns the newest state; undefined: the claim is gone. Absent if devices are not prepared: they count
   * as ready.
   */
  settled?(
    stored: ResourceClaim,
    decided: (claim: ResourceClaim) => boolean,
    deadline: number,
  ): Promise<ResourceClaim | undefined>;
  /** Gives the claim's devices back. Fails if the claim has changed since it was read. */
  deallocate(claim: ResourceClaim): Promise<void>;
  /** Takes back a reservation. The allocation stays: the next attempt uses it. */
  release(claim: ResourceClaim, consumer: Pick<Consumer, "uid">): Promise<void>;
}
