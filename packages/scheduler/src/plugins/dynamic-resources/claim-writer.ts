import type { Overdrawn } from "@dray/allocator";
import { StatusError } from "@dray/api";
import {
  type ContainerExtendedResourceRequest,
  type NodeAllocatableResourceClaimStatus,
  Pod,
} from "@dray/api/core/v1";
import { type AllocationResult, type ResourceClaim as Claim, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, type Clock, hasReached, type Informer } from "@dray/client";
import type { RetryUnanswered } from "../../framework/retry-unanswered.ts";
import { type ClaimReservation, type ClaimStore, isStored, withReservation } from "./claim-store.ts";
import { type Consumer, exclusiveDevices, isReservedFor, sameDevices, unusedByOthers } from "./pod-claims.ts";

/** Finalizer that keeps a claim with an allocation from vanishing (resource.k8s.io Finalizer). */
const deleteProtection = "resource.kubernetes.io/delete-protection";
/** How often a write is repeated after a conflict before the attempt fails. */
const conflicts = 5;

export interface ClaimWriterOptions {
  readonly client: Client;
  /** With the indexes `device`: `claimsByDevice`, and `extended`: `extendedClaimOwner`. */
  readonly claims: Informer<Claim>;
  readonly retryUnanswered: RetryUnanswered;
  readonly clock: Clock;
  /** Told of each state of a claim that the server answered before the watch brings it. */
  readonly learned: (claim: Claim) => void;
  /** Overcommitted resources of this claim's devices, by the claims of the cache. */
  readonly overdrawn: (claim: Claim) => Overdrawn | undefined;
}

/** Index of an informer of claims: by each device that a claim has for itself. */
export const claimsByDevice = (claim: Claim): readonly string[] => exclusiveDevices(claim.status?.allocation);

const isNewer = (a: Claim, b: Claim): boolean =>
  BigInt(a.metadata.resourceVersion) > BigInt(b.metadata.resourceVersion);

const hasSameDevices = ({ status }: Claim, allocation: AllocationResult): boolean =>
  status?.allocation !== undefined && sameDevices(status.allocation, allocation);

/** The claims of an API server. Concurrent writes are never overwritten. */
export class ClaimWriter implements ClaimStore {
  readonly #options: ClaimWriterOptions;
  /** Claims as the server answered them to us, by uid, until the cache has them. */
  readonly #ahead = new Map<string, Claim>();

  constructor(options: ClaimWriterOptions) {
    this.#options = options;
    options.claims.handle({
      update: (claim) => {
        const known = this.#ahead.get(claim.metadata.uid);
        if (known !== undefined && !isNewer(known, claim)) this.#ahead.delete(claim.metadata.uid);
      },
      delete: (claim) => this.#ahead.delete(claim.metadata.uid),
    });
  }

  get(namespace: string, name: string): Claim | undefined {
    const cached = this.#options.claims.get({ namespace, name });
    return cached && (this.#ahead.get(cached.metadata.uid) ?? cached);
  }

  /** Takes note of a claim that the server answered, before the watch brings it. */
  #learn(claim: Claim): void {
    const { namespace, name, uid } = claim.metadata;
    const cached = this.#options.claims.get({ namespace, name });
    if (cached?.metadata.uid !== uid || !isNewer(claim, cached)) return;
    this.#ahead.set(uid, claim);
    this.#options.learned(claim);
  }

  async store(known: Claim, reservation: ClaimReservation): Promise<Claim> {
    const { retryUnanswered, client } = this.#options;
    const resource = client.resource(ResourceClaim);
    const { namespace, name, uid } = known.metadata;
    const title = `claim ${namespace}/${name}`;
    const { allocation } = reservation;
    // Another pod of the group may have stored it in the meantime.
    const newest = this.get(namespace, name);
    let claim = newest?.metadata.uid === uid ? newest : known;
    for (let attempt = 0; ; attempt++) {
      if (claim.metadata.uid !== uid) throw new Error(`${title} is a new one with the same name`);
      // Left by a scheduler before us; or our own write, whose answer was lost; or that of another pod of the
      // group.
      if (isStored(claim, reservation)) return claim;
      if (claim.metadata.deletionTimestamp !== undefined)
        throw new Error(`${title} got deleted in the meantime`);
      const current = claim.status?.allocation;
      if (allocation === undefined && current === undefined)
        throw new Error(`${title} got deallocated elsewhere in the meantime`);
      // The node was chosen for the devices that it had.
      if (current !== undefined && (allocation !== undefined || !hasSameDevices(known, current)))
        throw new Error(`${title} got allocated elsewhere in the meantime`);
      let doing = `add finalizer to ${title}`;
      try {
        if (allocation !== undefined && !claim.metadata.finalizers?.includes(deleteProtection)) {
          const finalizers = [...(claim.metadata.finalizers ?? []), deleteProtection];
          const protectedClaim = { ...claim, metadata: { ...claim.metadata, finalizers } };
          claim = await retryUnanswered(() => resource.update(protectedClaim));
        }
        doing = `add ${allocation ? "allocation and " : ""}reservation to ${title}`;
        const reserved = withReservation(claim, reservation);
        claim = await retryUnanswered(() => resource.update(reserved, { subresource: "status" }));
        this.#learn(claim);
        return claim;
      } catch (error) {
        if (!StatusError.is(error, "Conflict") || attempt === conflicts)
          throw new Error(`${doing}: ${(error as Error).message}`, { cause: error });
        claim = await retryUnanswered(() => resource.get({ namespace, name }));
        this.#learn(claim);
      }
    }
  }

  extended(pod: Pod): Claim | undefined {
    return this.#options.claims.byIndex("extended", pod.metadata.uid)[0];
  }

  async create(claim: Claim): Promise<Claim> {
    const { retryUnanswered, client } = this.#options;
    const { name: _n, uid: _u, ...metadata } = claim.metadata;
    try {
      return await retryUnanswered(() =>
        client.resource(ResourceClaim).create({ ...claim, metadata } as never),
      );
    } catch (error) {
      const title = `${claim.metadata.namespace}/${claim.metadata.generateName}`;
      throw new Error(`create claim for extended resources ${title}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  async delete({ metadata: { namespace, name, uid } }: Claim): Promise<void> {
    const { retryUnanswered, client } = this.#options;
    const resource = client.resource(ResourceClaim);
    const finalizers = [deleteProtection];
    const patch = { metadata: { uid, "$deleteFromPrimitiveList/finalizers": finalizers } };
    try {
      await retryUnanswered(() => resource.patch({ namespace, name }, "strategic", patch));
      await retryUnanswered(() => resource.delete({ namespace, name }, { preconditions: { uid } }));
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  async map(
    pod: Pod,
    claim: Claim,
    requestMappings: readonly ContainerExtendedResourceRequest[],
  ): Promise<void> {
    const extendedResourceClaimStatus = { resourceClaimName: claim.metadata.name, requestMappings };
    await this.#patchStatus(pod, { extendedResourceClaimStatus });
  }

  /** An empty list is written as such: it replaces what an earlier attempt has written. */
  async setTaken(pod: Pod, taken: readonly NodeAllocatableResourceClaimStatus[]): Promise<void> {
    await this.#patchStatus(pod, { nodeAllocatableResourceClaimStatuses: taken });
  }

  async #patchStatus({ metadata: { namespace, name, uid } }: Pod, status: object): Promise<void> {
    const { retryUnanswered, client } = this.#options;
    const patch = { metadata: { uid }, status };
    const write = { subresource: "status" };
    await retryUnanswered(() => client.resource(Pod).patch({ namespace, name }, "merge", patch, write));
  }

  async cached(stored: Claim): Promise<void> {
    const { claims } = this.#options;
    await claims.until(() => hasReached(claims, stored));
    if (!hasReached(claims, stored))
      throw new Error(`the scheduler ended before claim ${stored.metadata.name} was confirmed`);
  }

  /**
   * A second scheduler (one that has lost its lease and does not know it yet) may give a device away in the
   * same moment, and the API server does not compare claims. So an allocation counts only after the cache has
   * reached it and no other claim there has one of its devices: of two that were written, the later one sees
   * the other. The same holds for the counters and the capacity that an allocation takes. Otherwise the
   * devices are given up, and the error says why.
   */
  async confirm(stored: Claim, consumer: Consumer): Promise<void> {
    await this.cached(stored);
    const { claims } = this.#options;
    const { namespace, name, uid } = stored.metadata;
    const current = claims.get({ namespace, name });
    const allocation = current?.metadata.uid === uid ? current.status?.allocation : undefined;
    if (current === undefined || allocation === undefined)
      throw new Error(`claim ${namespace}/${name} got deallocated elsewhere in the meantime`);
    if (!hasSameDevices(stored, allocation) || !isReservedFor(current, consumer))
      throw new Error(`claim ${namespace}/${name} was given to others in the meantime`);
    const conflict = this.#conflict(current);
    if (conflict === undefined) return;
    if (unusedByOthers(current, consumer)) await this.deallocate(current);
    throw new Error(conflict);
  }

  /** Returns why the claim cannot keep its allocation. The allocation may be unconfirmed. */
  #conflict(claim: Claim): string | undefined {
    const { claims, overdrawn } = this.#options;
    const { namespace, name, uid } = claim.metadata;
    for (const device of exclusiveDevices(claim.status?.allocation)) {
      const other = claims.byIndex("device", device).find(({ metadata }) => metadata.uid !== uid);
      if (other === undefined) continue;
      const whose = `${other.metadata.namespace}/${other.metadata.name}`;
      return `device ${device} of claim ${namespace}/${name} was allocated to claim ${whose}, too`;
    }
    const lack = overdrawn(claim);
    return (
      lack &&
      `device ${lack.device} of claim ${namespace}/${name} was allocated to others, too: ${lack.reason}`
    );
  }

  async settled(
    { metadata }: Claim,
    decided: (claim: Claim) => boolean,
    deadline: number,
  ): Promise<Claim | undefined> {
    const { claims, clock } = this.#options;
    const current = (): Claim | undefined => {
      const claim = claims.get({ namespace: metadata.namespace, name: metadata.name });
      return claim?.metadata.uid === metadata.uid ? claim : undefined;
    };
    let over = false;
    const time = Promise.withResolvers<void>();
    const cancel = clock.after(Math.max(0, deadline - clock.now()), () => {
      over = true;
      time.resolve();
    });
    const settled = claims.until(() => {
      const claim = current();
      return over || claim === undefined || decided(claim);
    });
    await Promise.race([settled, time.promise]);
    cancel();
    return current();
  }

  async deallocate(claim: Claim): Promise<void> {
    const { retryUnanswered, client } = this.#options;
    const { allocation: _a, reservedFor: _r, devices: _d, ...status } = claim.status ?? {};
    const freed = { ...claim, status };
    this.#learn(
      await retryUnanswered(() => client.resource(ResourceClaim).update(freed, { subresource: "status" })),
    );
  }

  async release({ metadata }: Claim, consumer: Pick<Consumer, "uid">): Promise<void> {
    const { retryUnanswered, client } = this.#options;
    const { namespace, name, uid } = metadata;
    const reservedFor = [{ $patch: "delete", uid: consumer.uid }];
    const patch = { metadata: { uid }, status: { reservedFor } };
    try {
      const write = { subresource: "status" };
      const resource = client.resource(ResourceClaim);
      this.#learn(
        await retryUnanswered(() => resource.patch({ namespace, name }, "strategic", patch, write)),
      );
    } catch (error) {
      // A claim that is gone or was replaced is not reserved.
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }
}
