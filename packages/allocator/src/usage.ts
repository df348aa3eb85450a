import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { DeviceInUseError, type Reservation } from "./allocator.ts";
import { deviceId } from "./inventory.ts";

/** A claim as it was last seen. */
interface Stored {
  /** Of the object, as a number; undefined where it has none. */
  readonly version: bigint | undefined;
  readonly devices: readonly string[];
}

/** What was reserved for one claim. */
interface Hold {
  readonly owner: string;
  readonly devices: readonly string[];
  /** A stored state of the claim had these devices. */
  stored: boolean;
  state: "open" | "committed" | "over";
}

/** Whoever has a device: a claim, as often as its allocation and its reservations name the device. */
interface Holder {
  readonly name: string;
  times: number;
}

/** Which devices are taken: by allocations of claims and by reservations. */
export class Usage {
  /** By device, then by owner (`ownerOf`). */
  readonly #holders = new Map<string, Map<string, Holder>>();
  readonly #stored = new Map<string, Stored>();
  readonly #holds = new Map<string, Set<Hold>>();

  /** The name of a claim that holds a device; undefined if it is free. */
  holder(device: string): string | undefined {
    return this.#holders.get(device)?.values().next().value?.name;
  }

  /** Takes note of a claim as it is stored now; a state older than the one that is known changes nothing. */
  set(claim: ResourceClaim): void {
    const owner = ownerOf(claim);
    const known = this.#stored.get(owner);
    const version = versionOf(claim);
    if (known?.version !== undefined && version !== undefined && version < known.version) return;
    const allocation = claim.status?.allocation;
    const devices = allocation === undefined ? [] : exclusiveDevices(allocation);
    // Taken before the old ones are given back: what is in both is free at no moment.
    for (const device of devices) this.#take(device, owner, claimName(claim));
    for (const device of known?.devices ?? []) this.#giveBack(device, owner);
    this.#stored.set(owner, { version, devices });
    if (allocation === undefined) return;
    for (const hold of this.#holds.get(owner) ?? []) {
      // An allocation of other devices is not the one that this reservation waits for.
      if (!hold.devices.every((device) => devices.includes(device))) continue;
      hold.stored = true;
      if (hold.state === "committed") this.#end(hold);
    }
  }

  /** The claim is gone, and with it all that was held for it. */
  delete(claim: ResourceClaim): void {
    const owner = ownerOf(claim);
    for (const device of this.#stored.get(owner)?.devices ?? []) this.#giveBack(device, owner);
    this.#stored.delete(owner);
    for (const hold of this.#holds.get(owner) ?? []) this.#end(hold);
  }

  /** Throws DeviceInUseError, and then has taken nothing. */
  reserve(claims: readonly ResourceClaim[], allocations: readonly AllocationResult[]): Reservation {
    const holds: Hold[] = [];
    try {
      claims.forEach((claim, i) => {
        holds.push(this.#hold(claim, exclusiveDevices(allocations[i]!)));
      });
    } catch (error) {
      for (const hold of holds) this.#end(hold);
      throw error;
    }
    return {
      commit: () => {
        for (const hold of holds) {
          if (hold.state !== "open") continue;
          if (hold.stored) this.#end(hold);
          else hold.state = "committed";
        }
      },
      rollback: () => {
        for (const hold of holds) if (hold.state === "open") this.#end(hold);
      },
    };
  }

  #hold(claim: ResourceClaim, devices: readonly string[]): Hold {
    const owner = ownerOf(claim);
    const name = claimName(claim);
    // Older states than this one must not be taken for what the reservation waits for.
    if (versionOf(claim) !== undefined) this.set(claim);
    for (const device of devices) {
      for (const [other, holder] of this.#holders.get(device) ?? []) {
        if (other !== owner) throw new DeviceInUseError(device, name, holder.name);
      }
    }
    const hold: Hold = { owner, devices, stored: false, state: "open" };
    const known = this.#holds.get(owner);
    if (known === undefined) this.#holds.set(owner, new Set([hold]));
    else known.add(hold);
    for (const device of devices) this.#take(device, owner, name);
    return hold;
  }

  #end(hold: Hold): void {
    if (hold.state === "over") return;
    hold.state = "over";
    for (const device of hold.devices) this.#giveBack(device, hold.owner);
    const holds = this.#holds.get(hold.owner);
    holds?.delete(hold);
    if (holds?.size === 0) this.#holds.delete(hold.owner);
  }

  #take(device: string, owner: string, name: string): void {
    let holders = this.#holders.get(device);
    if (holders === undefined) {
      holders = new Map();
      this.#holders.set(device, holders);
    }
    const holder = holders.get(owner);
    if (holder === undefined) holders.set(owner, { name, times: 1 });
    else holder.times++;
  }

  #giveBack(device: string, owner: string): void {
    const holders = this.#holders.get(device);
    const holder = holders?.get(owner);
    if (holders === undefined || holder === undefined || --holder.times > 0) return;
    holders.delete(owner);
    if (holders.size === 0) this.#holders.delete(device);
  }
}

/** A claim is itself by its uid; one that no server has stored yet, by its name. */
function ownerOf(claim: ResourceClaim): string {
  return claim.metadata.uid || claimName(claim);
}

/** Versions of one resource are ordered as numbers (KEP-5504). */
function versionOf(claim: ResourceClaim): bigint | undefined {
  const text = claim.metadata.resourceVersion ?? "";
  return /^[0-9]+$/.test(text) ? BigInt(text) : undefined;
}

/** Admin access takes nothing away from others (KEP-5018), and a share leaves the device to be shared. */
function exclusiveDevices(allocation: AllocationResult): readonly string[] {
  return (allocation.devices?.results ?? [])
    .filter((result) => result.adminAccess !== true && result.shareID === undefined)
    .map((result) => deviceId(result.driver, result.pool, result.device));
}

export function claimName(claim: ResourceClaim): string {
  return `${claim.metadata.namespace}/${claim.metadata.name}`;
}
