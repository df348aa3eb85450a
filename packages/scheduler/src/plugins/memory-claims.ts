import type { Allocator } from "@dray/allocator";
import type { Pod } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { ClaimStore, StoredClaim } from "./claim-store.ts";
import { reservedFor } from "./pod-claims.ts";

/** Claims in memory: nobody else writes them, so that what is decided holds at once. */
export class MemoryClaims implements ClaimStore {
  readonly #claims = new Map<string, ResourceClaim>();
  readonly #allocator: Allocator;
  /** How many claims gave their devices back. */
  deallocated = 0;

  constructor(allocator: Allocator) {
    this.#allocator = allocator;
  }

  set(claim: ResourceClaim): void {
    this.#claims.set(`${claim.metadata.namespace}/${claim.metadata.name}`, claim);
    this.#allocator.update({ kind: "claim", object: claim, deleted: false });
  }

  get(namespace: string, name: string): ResourceClaim | undefined {
    return this.#claims.get(`${namespace}/${name}`);
  }

  /** Stores another status, as a newer state: the allocator goes by the versions of a claim. */
  #setStatus(claim: ResourceClaim, status: NonNullable<ResourceClaim["status"]>): ResourceClaim {
    const resourceVersion = String(BigInt(claim.metadata.resourceVersion) + 1n);
    const changed = { ...claim, metadata: { ...claim.metadata, resourceVersion }, status };
    this.set(changed);
    return changed;
  }

  async store(
    claim: ResourceClaim,
    pod: Pod,
    allocation: AllocationResult | undefined,
  ): Promise<StoredClaim> {
    if (allocation === undefined && reservedFor(claim, pod)) return { claim, written: false };
    const consumer = { resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid };
    const status = {
      ...claim.status,
      ...(allocation && { allocation }),
      reservedFor: [...(claim.status?.reservedFor ?? []), consumer],
    };
    return { claim: this.#setStatus(claim, status), written: true };
  }

  /** Nobody else gives devices away. */
  async confirm(): Promise<void> {}

  /** Nobody prepares devices: they are taken to become ready. */
  async settled(): Promise<undefined> {}

  async deallocate(claim: ResourceClaim): Promise<void> {
    const { allocation: _a, reservedFor: _r, devices: _d, ...status } = claim.status ?? {};
    this.deallocated++;
    this.#setStatus(claim, status);
  }

  async release(claim: ResourceClaim, pod: Pod): Promise<void> {
    const kept = (claim.status?.reservedFor ?? []).filter(({ uid }) => uid !== pod.metadata.uid);
    this.#setStatus(claim, { ...claim.status, reservedFor: kept });
  }
}
