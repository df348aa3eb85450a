import { StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { type AllocationResult, type ResourceClaim as Claim, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, hasReached, type Informer } from "@dray/client";
import type { UntilAnswered } from "../answered.ts";
import { exclusiveDevices, reservedFor, sameDevices, unusedByOthers } from "./pod-claims.ts";

/** Finalizer that keeps a claim with an allocation from vanishing (resource.k8s.io Finalizer). */
const deleteProtection = "resource.kubernetes.io/delete-protection";
/** How often a write is repeated after a conflict before the attempt fails. */
const conflicts = 5;

export interface ClaimWriterOptions {
  readonly client: Client;
  /** With the index `claimsByDevice`. */
  readonly claims: Informer<Claim>;
  readonly untilAnswered: UntilAnswered;
  /** Told of each state of a claim that the server answered. */
  readonly learn: (claim: Claim) => void;
}

/** Index of an informer of claims: by each device that a claim has for itself. */
export const claimsByDevice = (claim: Claim): readonly string[] => exclusiveDevices(claim.status?.allocation);

/** What `store` left behind. */
export interface StoredClaim {
  readonly claim: Claim;
  /** The reservation is ours to take back; false if it had been there before. */
  readonly written: boolean;
}

/** Writes allocations and reservations of claims; what another writer does in between is never overwritten. */
export class ClaimWriter {
  readonly #options: ClaimWriterOptions;

  constructor(options: ClaimWriterOptions) {
    this.#options = options;
  }

  /**
   * Reserves a claim for the pod, with an allocation if it has none, and the finalizer before that. Fails if the
   * claim is not any more what the choice was made for.
   */
  async store(known: Claim, pod: Pod, allocation: AllocationResult | undefined): Promise<StoredClaim> {
    const { untilAnswered, client } = this.#options;
    const resource = client.resource(ResourceClaim);
    const { namespace, name, uid } = known.metadata;
    const title = `claim ${namespace}/${name}`;
    const consumer = { resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid };
    let claim = known;
    let sent = false;
    for (let attempt = 0; ; attempt++) {
      const current = claim.status?.allocation;
      if (claim.metadata.uid !== uid) throw new Error(`${title} is a new one with the same name`);
      if (allocation === undefined) {
        if (current === undefined) throw new Error(`${title} was deallocated in the meantime`);
        // Left by a scheduler before us.
        if (reservedFor(claim, pod)) return { claim, written: false };
      } else if (current !== undefined) {
        const ours = reservedFor(claim, pod) && sameDevices(current, allocation);
        if (!ours) throw new Error(`${title} got allocated elsewhere in the meantime`);
        // Our own write, whose answer was lost; or another scheduler came to the same result.
        return { claim, written: sent };
      } else if (claim.metadata.deletionTimestamp !== undefined) {
        throw new Error(`${title} got deleted in the meantime`);
      }
      try {
        if (allocation !== undefined && !claim.metadata.finalizers?.includes(deleteProtection)) {
          const finalizers = [...(claim.metadata.finalizers ?? []), deleteProtection];
          const protectedClaim = { ...claim, metadata: { ...claim.metadata, finalizers } };
          claim = await untilAnswered(() => resource.update(protectedClaim));
        }
        const status = {
          ...claim.status,
          ...(allocation === undefined ? {} : { allocation }),
          reservedFor: [...(claim.status?.reservedFor ?? []), consumer],
        };
        const reserved = { ...claim, status };
        claim = await untilAnswered(() => {
          sent = true;
          return resource.update(reserved, { subresource: "status" });
        });
        this.#options.learn(claim);
        return { claim, written: true };
      } catch (error) {
        if (!StatusError.is(error, "Conflict") || attempt === conflicts) throw error;
        claim = await untilAnswered(() => resource.get({ namespace, name }));
        this.#options.learn(claim);
      }
    }
  }

  /**
   * A second scheduler (one that has lost its lease and does not know it yet) may give a device away in the same
   * moment, and the API server does not compare claims. So an allocation counts only after the cache has reached it
   * and no other claim there has one of its devices: of two that were written, the later one sees the other.
   * Otherwise the devices are given up, and the error says to whom.
   */
  async confirm(stored: Claim, pod: Pod): Promise<void> {
    const { claims } = this.#options;
    const { namespace, name, uid } = stored.metadata;
    await claims.until(() => hasReached(claims, stored));
    if (!hasReached(claims, stored))
      throw new Error(`the scheduler ended before claim ${name} was confirmed`);
    for (const device of exclusiveDevices(stored.status?.allocation)) {
      const other = claims.byIndex("device", device).find((claim) => claim.metadata.uid !== uid);
      if (other === undefined) continue;
      const claim = claims.get({ namespace: namespace!, name });
      if (claim?.metadata.uid === uid && unusedByOthers(claim, pod)) await this.deallocate(claim);
      const whose = `${other.metadata.namespace}/${other.metadata.name}`;
      throw new Error(`device ${device} of claim ${namespace}/${name} was allocated to claim ${whose}, too`);
    }
  }

  /** Gives the claim's devices back. Fails if the claim has changed since it was read. */
  async deallocate(claim: Claim): Promise<void> {
    const { untilAnswered, client, learn } = this.#options;
    const { allocation: _a, reservedFor: _r, devices: _d, ...status } = claim.status ?? {};
    const freed = { ...claim, status };
    learn(await untilAnswered(() => client.resource(ResourceClaim).update(freed, { subresource: "status" })));
  }

  /** Takes back the pod's reservation. The allocation stays: the next attempt uses it. */
  async release(stored: Claim, pod: Pod): Promise<void> {
    const { untilAnswered, client, learn } = this.#options;
    const { namespace, name, uid } = stored.metadata;
    const consumer = { $patch: "delete", uid: pod.metadata.uid };
    const patch = { metadata: { uid }, status: { reservedFor: [consumer] } };
    try {
      const write = { subresource: "status" };
      const resource = client.resource(ResourceClaim);
      learn(await untilAnswered(() => resource.patch({ namespace, name }, "strategic", patch, write)));
    } catch (error) {
      // A claim that is gone, or is another one now, is reserved for nobody.
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }
}
