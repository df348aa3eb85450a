import type { ContainerExtendedResourceRequest, Pod } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";

/** What `store` left behind. */
export interface StoredClaim {
  readonly claim: ResourceClaim;
  /** The reservation is ours to take back; false if it had been there before. */
  readonly written: boolean;
}

/** Where DynamicResources finds claims, and where it leaves what it has decided about them. */
export interface ClaimStore {
  /** The newest state that is known. */
  get(namespace: string, name: string): ResourceClaim | undefined;
  /**
   * Reserves a claim for the pod, with an allocation if it has none, and the finalizer before that. Fails if the
   * claim is not any more what the choice was made for.
   */
  store(known: ResourceClaim, pod: Pod, allocation: AllocationResult | undefined): Promise<StoredClaim>;
  /** The claim that the scheduler made for the pod's extended resources, if it is stored. */
  extended(pod: Pod): ResourceClaim | undefined;
  /** Stores a claim for extended resources, under a name of its own. */
  create(claim: ResourceClaim): Promise<ResourceClaim>;
  /** Deletes a claim, and gives its devices back. */
  delete(claim: ResourceClaim): Promise<void>;
  /** Writes on the pod which of its containers have which devices of the claim (KEP-5004). */
  map(pod: Pod, claim: ResourceClaim, mappings: readonly ContainerExtendedResourceRequest[]): Promise<void>;
  /** Fails, and gives the devices up, if another claim turns out to have one of them. */
  confirm(stored: ResourceClaim, pod: Pod): Promise<void>;
  /** Waits until a later state of the claim is decided, for so many milliseconds at most; answers the newest state. */
  settled(
    stored: ResourceClaim,
    decided: (claim: ResourceClaim) => boolean,
    milliseconds: number,
  ): Promise<ResourceClaim | undefined>;
  /** Gives the claim's devices back. Fails if the claim has changed since it was read. */
  deallocate(claim: ResourceClaim): Promise<void>;
  /** Takes back the pod's reservation. The allocation stays: the next attempt uses it. */
  release(stored: ResourceClaim, pod: Pod): Promise<void>;
}
