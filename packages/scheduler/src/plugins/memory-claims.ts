import type { Allocator } from "@dray/allocator";
import type { ContainerExtendedResourceRequest, Pod } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { ClaimStore, StoredClaim } from "./claim-store.ts";
import { extendedClaimOwner } from "./extended-resources.ts";
import { reservedFor } from "./pod-claims.ts";

/** Claims in memory: nobody else writes them, so that what is decided holds at once. */
export class MemoryClaims implements ClaimStore {
  readonly #claims = new Map<string, ResourceClaim>();
  /** By the uid of the pod that they are for. */
  readonly #extended = new Map<string, ResourceClaim>();
  readonly #allocator: Allocator;
  /** How many claims gave their devices back. */
  deallocated = 0;

  constructor(allocator: Allocator) {
    this.#allocator = allocator;
  }

  set(claim: ResourceClaim): void {
    this.#claims.set(`${claim.metadata.namespace}/${claim.metadata.name}`, claim);
    for (const owner of extendedClaimOwner(claim)) this.#extended.set(owner, claim);
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

  extended(pod: Pod): ResourceClaim | undefined {
    return this.#extended.get(pod.metadata.uid);
  }

  async create(claim: ResourceClaim): Promise<ResourceClaim> {
    const name = `${claim.metadata.generateName}${claim.metadata.uid}`;
    const created = { ...claim, metadata: { ...claim.metadata, name, resourceVersion: "1" } };
    this.set(created);
    return created;
  }

  async delete(claim: ResourceClaim): Promise<void> {
    const { namespace, name } = claim.metadata;
    this.#claims.delete(`${namespace}/${name}`);
    for (const owner of extendedClaimOwner(claim)) this.#extended.delete(owner);
    this.deallocated++;
    this.#allocator.update({ kind: "claim", object: claim, deleted: true });
  }

  /** Nobody prepares devices. */
  async map(
    _pod: Pod,
    _claim: ResourceClaim,
    _: readonly ContainerExtendedResourceRequest[],
  ): Promise<void> {}

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
