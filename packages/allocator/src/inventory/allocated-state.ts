import { Quantity } from "@dray/api";
import type { AllocationResult, DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { deviceId } from "../devices/device-record.ts";
import { type Amounts, DeviceState, type Holder, noNodes, type PoolState } from "../devices/device-state.ts";
import { claimName } from "../rules/claim-name.ts";
import { DeviceInUseError, type Overdrawn, type Reservation } from "./reservation.ts";

/** A device, or a share of it, that an allocation names. */
interface AllocatedDevice {
  readonly state: DeviceState;
  /** Undefined for the whole device. */
  readonly share: string | undefined;
  readonly consumed: Amounts | undefined;
}

/** A claim in the last state that `update` received. */
interface StoredClaim {
  /** resourceVersion as a number; undefined if the claim has none. */
  readonly version: bigint | undefined;
  readonly devices: readonly AllocatedDevice[];
}

/** The devices reserved for one claim. */
interface ClaimReservation {
  readonly owner: string;
  readonly name: string;
  readonly devices: readonly AllocatedDevice[];
  /** A stored state of the claim had these devices. */
  stored: boolean;
  state: "open" | "committed" | "ended";
}

export interface AllocatedStateOptions {
  /** Feature gate DRAConsumableCapacity: otherwise a share takes the whole device. */
  readonly consumableCapacity: boolean;
  /** Called when a device, or a share of it, is allocated or deallocated. */
  readonly changed: (state: DeviceState) => void;
  /** Returns the exceeded capacity or counter of a device as text; undefined if none is exceeded. */
  readonly overdrawn: (state: DeviceState, share: boolean) => string | undefined;
}

/**
 * The devices, shares and capacity that allocations and reservations of claims have taken.
 *
 * Upstream: dynamic-resource-allocation/structured/schedulerapi/types.go, AllocatedState.
 */
export class AllocatedState {
  readonly #options: AllocatedStateOptions;
  readonly #states = new Map<string, DeviceState>();
  readonly #pools = new Map<string, PoolState>();
  readonly #stored = new Map<string, StoredClaim>();
  readonly #reservations = new Map<string, Set<ClaimReservation>>();
  #lastNodes = noNodes;

  constructor(options: AllocatedStateOptions) {
    this.#options = options;
  }

  /** Returns the state of a device that a slice publishes: the same object until `unpublish`. */
  publish(driver: string, pool: string, device: string, node: string): DeviceState {
    const state = this.#state(driver, pool, device);
    state.nodes = state.nodes.length === 0 ? this.#single(node) : [...state.nodes, node];
    return state;
  }

  /** Returns a shared list: most devices are published once, and those of one node can share it. */
  #single(node: string): readonly string[] {
    if (this.#lastNodes[0] !== node) this.#lastNodes = [node];
    return this.#lastNodes;
  }

  #state(driver: string, pool: string, device: string): DeviceState {
    const id = deviceId(driver, pool, device);
    let state = this.#states.get(id);
    if (state === undefined) {
      const key = `${driver}/${pool}`;
      let poolState = this.#pools.get(key);
      if (poolState === undefined) {
        poolState = { version: 0 };
        this.#pools.set(key, poolState);
      }
      state = new DeviceState(id, poolState);
      this.#states.set(id, state);
    }
    return state;
  }

  /** Undoes one `publish`. */
  unpublish(state: DeviceState, node: string): void {
    state.nodes = state.nodes.toSpliced(state.nodes.indexOf(node), 1);
    this.#removeUnused(state);
  }

  #removeUnused(state: DeviceState): void {
    if (!state.isAllocated && state.nodes.length === 0) this.#states.delete(state.id);
  }

  /** Stores the state of a claim; one that is older than the stored state is ignored. */
  set(claim: ResourceClaim): void {
    const owner = ownerOf(claim);
    const old = this.#stored.get(owner);
    const version = versionOf(claim);
    if (old?.version !== undefined && version !== undefined && version < old.version) return;
    const allocation = claim.status?.allocation;
    const devices = allocation === undefined ? [] : this.#devicesOf(allocation);
    // Before the old ones are deallocated: a device in both states is never free in between.
    for (const device of devices) this.#allocate(device, owner, claimName(claim));
    for (const device of old?.devices ?? []) this.#deallocate(device, owner);
    this.#stored.set(owner, { version, devices });
    if (allocation === undefined) return;
    for (const reservation of this.#reservations.get(owner) ?? []) {
      // Another allocation does not fulfil the reservation.
      if (!reservation.devices.every((device) => devices.some((other) => isSame(device, other)))) continue;
      reservation.stored = true;
      if (reservation.state === "committed") this.#end(reservation);
    }
  }

  /** Frees the devices of a deleted claim and ends its reservations. */
  delete(claim: ResourceClaim): void {
    const owner = ownerOf(claim);
    for (const device of this.#stored.get(owner)?.devices ?? []) this.#deallocate(device, owner);
    this.#stored.delete(owner);
    for (const reservation of this.#reservations.get(owner) ?? []) this.#end(reservation);
  }

  /** Returns the first device of a claim whose counters or capacity its claims exceed. */
  overdrawn(claim: ResourceClaim): Overdrawn | undefined {
    for (const { state, share } of this.#stored.get(ownerOf(claim))?.devices ?? []) {
      const reason = this.#options.overdrawn(state, share !== undefined);
      if (reason !== undefined) return { device: state.id, reason };
    }
    return undefined;
  }

  /** Reserves all devices or, with a DeviceInUseError, none. */
  reserve(claims: readonly ResourceClaim[], allocations: readonly AllocationResult[]): Reservation {
    const reservations: ClaimReservation[] = [];
    try {
      claims.forEach((claim, i) => {
        reservations.push(this.#reserveClaim(claim, this.#devicesOf(allocations[i]!)));
      });
      for (const reservation of reservations) this.#checkOverdrawn(reservation);
    } catch (error) {
      for (const reservation of reservations) this.#end(reservation);
      throw error;
    }
    return {
      commit: () => {
        for (const reservation of reservations) {
          if (reservation.state !== "open") continue;
          if (reservation.stored) this.#end(reservation);
          else reservation.state = "committed";
        }
      },
      rollback: () => {
        for (const reservation of reservations) if (reservation.state === "open") this.#end(reservation);
      },
    };
  }

  #reserveClaim(claim: ResourceClaim, devices: readonly AllocatedDevice[]): ClaimReservation {
    const owner = ownerOf(claim);
    const name = claimName(claim);
    // Stores the state, so that older states, which do not fulfil the reservation, are ignored.
    if (versionOf(claim) !== undefined) this.set(claim);
    for (const { state } of devices) {
      for (const [other, holder] of state.owners ?? []) {
        if (other !== owner) throw new DeviceInUseError(state.id, name, `claim ${holder.name} holds it`);
      }
    }
    const reservation: ClaimReservation = { owner, name, devices, stored: false, state: "open" };
    const others = this.#reservations.get(owner);
    if (others === undefined) this.#reservations.set(owner, new Set([reservation]));
    else others.add(reservation);
    for (const device of devices) this.#allocate(device, owner, name);
    return reservation;
  }

  /** Other claims may have consumed capacity and counters since the allocation was computed. */
  #checkOverdrawn({ devices, name }: ClaimReservation): void {
    for (const { state, share } of devices) {
      const reason = this.#options.overdrawn(state, share !== undefined);
      if (reason !== undefined) throw new DeviceInUseError(state.id, name, reason);
    }
  }

  #end(reservation: ClaimReservation): void {
    if (reservation.state === "ended") return;
    reservation.state = "ended";
    for (const device of reservation.devices) this.#deallocate(device, reservation.owner);
    const others = this.#reservations.get(reservation.owner);
    others?.delete(reservation);
    if (others?.size === 0) this.#reservations.delete(reservation.owner);
  }

  /** Devices with admin access stay free for other claims (KEP-5018). */
  #devicesOf(allocation: AllocationResult): AllocatedDevice[] {
    return (allocation.devices?.results ?? [])
      .filter((result) => result.adminAccess !== true)
      .map((result) => this.#deviceOf(result));
  }

  #deviceOf(result: DeviceRequestAllocationResult): AllocatedDevice {
    const state = this.#state(result.driver, result.pool, result.device);
    if (!this.#options.consumableCapacity || !result.shareID)
      return { state, share: undefined, consumed: undefined };
    const consumed = Object.entries(result.consumedCapacity ?? {}).map(
      ([key, value]) => [key, Quantity.parse(value).nanoValue()] as const,
    );
    return { state, share: result.shareID, consumed: new Map(consumed) };
  }

  #allocate({ state, share, consumed }: AllocatedDevice, owner: string, name: string): void {
    const holders = (share === undefined ? state.owners : state.shares) ?? new Map<string, Holder>();
    if (share === undefined) state.owners = holders;
    else state.shares = holders;
    const key = share === undefined ? owner : `${owner} ${share}`;
    const holder = holders.get(key);
    if (holder !== undefined) {
      holder.references++;
      return;
    }
    holders.set(key, { name, consumed, references: 1 });
    if (consumed !== undefined) this.#consume(state, consumed, 1n);
    this.#changed(state);
  }

  #deallocate({ state, share }: AllocatedDevice, owner: string): void {
    const holders = share === undefined ? state.owners : state.shares;
    const key = share === undefined ? owner : `${owner} ${share}`;
    const holder = holders?.get(key);
    if (holders === undefined || holder === undefined || --holder.references > 0) return;
    holders.delete(key);
    if (holders.size === 0) {
      if (share === undefined) state.owners = undefined;
      else state.shares = undefined;
    }
    if (holder.consumed !== undefined) this.#consume(state, holder.consumed, -1n);
    this.#changed(state);
    this.#removeUnused(state);
  }

  #consume(state: DeviceState, consumed: Amounts, sign: bigint): void {
    state.consumed ??= new Map();
    for (const [key, amount] of consumed) {
      state.consumed.set(key, (state.consumed.get(key) ?? 0n) + sign * amount);
    }
    if (state.shares === undefined) state.consumed = undefined;
  }

  #changed(state: DeviceState): void {
    state.pool.version++;
    this.#options.changed(state);
  }
}

function isSame(a: AllocatedDevice, b: AllocatedDevice): boolean {
  return a.state === b.state && a.share === b.share;
}

/** Returns the uid of a claim, or its name if no server has stored it yet. */
function ownerOf(claim: ResourceClaim): string {
  return claim.metadata.uid || claimName(claim);
}

/** Resource versions compare as numbers (KEP-5504). */
function versionOf(claim: ResourceClaim): bigint | undefined {
  const text = claim.metadata.resourceVersion ?? "";
  return /^[0-9]+$/.test(text) ? BigInt(text) : undefined;
}
