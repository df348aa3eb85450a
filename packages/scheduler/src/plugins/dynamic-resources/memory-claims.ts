import type { Allocator } from "@dray/allocator";
import { generatedName } from "@dray/api";
import type { ContainerExtendedResourceRequest, Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { type ClaimReservation, type ClaimStore, isStored, withReservation } from "./claim-store.ts";
import { extendedClaimOwner } from "./extended-resources.ts";

/** Claims in memory, without other writers: a decision takes effect at once. */
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

  async store(claim: ResourceClaim, reservation: ClaimReservation): Promise<ResourceClaim> {
    if (isStored(claim, reservation)) return claim;
    // Devices are ready at once, and equal questions get equal results.
    const { status } = withReservation(claim, { ...reservation, allocationTimestamp: undefined });
    return this.#setStatus(claim, status);
  }

  extended(pod: Pod): ResourceClaim | undefined {
    return this.#extended.get(pod.metadata.uid);
  }

  async create(claim: ResourceClaim): Promise<ResourceClaim> {
    // Equal questions get equal results: the uid, not chance, is the suffix.
    const { generateName = "", uid = "" } = claim.metadata;
    let name = generatedName(generateName, uid.slice(0, 5));
    if (this.get(claim.metadata.namespace ?? "", name) !== undefined) name = `${generateName}${uid}`;
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

  /** Devices are not prepared. */
  async map(
    _pod: Pod,
    _claim: ResourceClaim,
    _: readonly ContainerExtendedResourceRequest[],
  ): Promise<void> {}

  /** Pods are held elsewhere. */
  async setTaken(): Promise<void> {}

  /** There is no other allocator. */
  async cached(): Promise<void> {}

  async confirm(): Promise<void> {}

  async deallocate(claim: ResourceClaim): Promise<void> {
    const { allocation: _a, reservedFor: _r, devices: _d, ...status } = claim.status ?? {};
    this.deallocated++;
    this.#setStatus(claim, status);
  }

  async release(claim: ResourceClaim, consumer: { readonly uid: string }): Promise<void> {
    const kept = (claim.status?.reservedFor ?? []).filter(({ uid }) => uid !== consumer.uid);
    this.#setStatus(claim, { ...claim.status, reservedFor: kept });
  }
}
