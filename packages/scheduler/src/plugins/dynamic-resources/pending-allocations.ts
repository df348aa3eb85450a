import type { Allocator, Reservation } from "@dray/allocator";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";

interface Pending {
  readonly allocation: AllocationResult;
  readonly reservation: Reservation;
  /** How many pods count on it. */
  sharers: number;
}

/**
 * Allocations between Reserve and the end of PreBind, by the uid of the claim. Pods of one group share them.
 * Upstream: dynamicresources/dra_manager.go, claimTracker.inFlightAllocations.
 */
export class PendingAllocations {
  readonly #allocator: Allocator;
  readonly #pending = new Map<string, Pending>();

  constructor(allocator: Allocator) {
    this.#allocator = allocator;
  }

  get(uid: string): AllocationResult | undefined {
    return this.#pending.get(uid)?.allocation;
  }

  /**
   * Takes the devices of the allocation, or another share of a pending one. Throws DeviceInUseError where
   * another claim has one of them.
   */
  take(claim: ResourceClaim, allocation: AllocationResult): void {
    const { uid } = claim.metadata;
    const known = this.#pending.get(uid);
    if (known !== undefined) {
      known.sharers++;
      return;
    }
    const reservation = this.#allocator.reserve([claim], [allocation]);
    this.#pending.set(uid, { allocation, reservation, sharers: 1 });
  }

  /**
   * A pod gives its share up; the last one frees the devices, unless the allocation is stored. True: nobody
   * waits for it any more.
   */
  release(uid: string): boolean {
    const known = this.#pending.get(uid);
    if (known === undefined) return true;
    known.sharers--;
    if (known.sharers > 0) return false;
    this.#pending.delete(uid);
    known.reservation.rollback();
    return true;
  }

  /** The allocation is stored, for all that share it. */
  stored(uid: string): void {
    this.#pending.get(uid)?.reservation.commit();
    this.#pending.delete(uid);
  }
}
