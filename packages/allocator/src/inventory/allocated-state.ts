import { Quantity } from "@dray/api";
import type { AllocationResult, DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { deviceId } from "../devices/device-record.ts";
import { type Amounts, DeviceState, type Holder, noNodes, type PoolUsage } from "../devices/device-state.ts";
import { claimName } from "../rules/claim-name.ts";
import { DeviceInUseError, type Overdrawn, type Reservation } from "./reservation.ts";

/** A device, or a share of it, that an allocation names. */
interface Take {
  readonly state: DeviceState;
  /** Absent: the whole device. */
  readonly share: string | undefined;
  readonly consumed: Amounts | undefined;
}

/** A claim as it was last seen. */
interface Stored {
  /** Of the object, as a number; undefined where it has none. */
  readonly version: bigint | undefined;
  readonly takes: readonly Take[];
}

/** What was reserved for one claim. */
interface Hold {
  readonly owner: string;
  readonly name: string;
  readonly takes: readonly Take[];
  /** A stored state of the claim had these devices. */
  stored: boolean;
  state: "open" | "committed" | "over";
}

export interface UsageOptions {
  /** Shares of devices are told apart; else a share takes the whole device (gate DRAConsumableCapacity). */
  readonly sharing: boolean;
  /** A device was taken or given back. */
  readonly changed: (state: DeviceState) => void;
  /** What a device lacks now that these claims have it too, in words; undefined: it bears them. */
  readonly overdrawn: (state: DeviceState, share: boolean) => string | undefined;
}

/** Which devices are taken: by allocations of claims and by reservations. */
export class Usage {
  readonly #options: UsageOptions;
  readonly #states = new Map<string, DeviceState>();
  readonly #pools = new Map<string, PoolUsage>();
  readonly #stored = new Map<string, Stored>();
  readonly #holds = new Map<string, Set<Hold>>();
  #lastNodes = noNodes;

  constructor(options: UsageOptions) {
    this.#options = options;
  }

  /** Who has a device that is published: the same object until `forget`. */
  publish(driver: string, pool: string, device: string, node: string): DeviceState {
    const state = this.#state(driver, pool, device);
    state.nodes = state.nodes.length === 0 ? this.#only(node) : [...state.nodes, node];
    return state;
  }

  /** Most devices are published once: those of one node share the list. */
  #only(node: string): readonly string[] {
    if (this.#lastNodes[0] !== node) this.#lastNodes = [node];
    return this.#lastNodes;
  }

  #state(driver: string, pool: string, device: string): DeviceState {
    const id = deviceId(driver, pool, device);
    let state = this.#states.get(id);
    if (state === undefined) {
      const key = `${driver}/${pool}`;
      let usage = this.#pools.get(key);
      if (usage === undefined) {
        usage = { version: 0 };
        this.#pools.set(key, usage);
      }
      state = new DeviceState(id, usage);
      this.#states.set(id, state);
    }
    return state;
  }

  /** Takes back one `publish`. */
  forget(state: DeviceState, node: string): void {
    state.nodes = state.nodes.toSpliced(state.nodes.indexOf(node), 1);
    this.#drop(state);
  }

  #drop(state: DeviceState): void {
    if (!state.taken && state.nodes.length === 0) this.#states.delete(state.id);
  }

  /** Takes note of a claim as it is stored now; a state older than the one that is known changes nothing. */
  set(claim: ResourceClaim): void {
    const owner = ownerOf(claim);
    const known = this.#stored.get(owner);
    const version = versionOf(claim);
    if (known?.version !== undefined && version !== undefined && version < known.version) return;
    const allocation = claim.status?.allocation;
    const takes = allocation === undefined ? [] : this.#takes(allocation);
    // Taken before the old ones are given back: what is in both is free at no moment.
    for (const take of takes) this.#take(take, owner, claimName(claim));
    for (const take of known?.takes ?? []) this.#giveBack(take, owner);
    this.#stored.set(owner, { version, takes });
    if (allocation === undefined) return;
    for (const hold of this.#holds.get(owner) ?? []) {
      // An allocation of other devices is not the one that this reservation waits for.
      if (!hold.takes.every((take) => takes.some((other) => sameTake(take, other)))) continue;
      hold.stored = true;
      if (hold.state === "committed") this.#end(hold);
    }
  }

  /** The claim is gone, and with it all that was held for it. */
  delete(claim: ResourceClaim): void {
    const owner = ownerOf(claim);
    for (const take of this.#stored.get(owner)?.takes ?? []) this.#giveBack(take, owner);
    this.#stored.delete(owner);
    for (const hold of this.#holds.get(owner) ?? []) this.#end(hold);
  }

  /** Returns the first device of a claim whose counters or capacity do not suffice for all its claims. */
  overdrawn(claim: ResourceClaim): Overdrawn | undefined {
    for (const { state, share } of this.#stored.get(ownerOf(claim))?.takes ?? []) {
      const reason = this.#options.overdrawn(state, share !== undefined);
      if (reason !== undefined) return { device: state.id, reason };
    }
    return undefined;
  }

  /** Throws DeviceInUseError, and then has taken nothing. */
  reserve(claims: readonly ResourceClaim[], allocations: readonly AllocationResult[]): Reservation {
    const holds: Hold[] = [];
    try {
      claims.forEach((claim, i) => {
        holds.push(this.#hold(claim, this.#takes(allocations[i]!)));
      });
      for (const hold of holds) this.#checkRoom(hold);
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

  #hold(claim: ResourceClaim, takes: readonly Take[]): Hold {
    const owner = ownerOf(claim);
    const name = claimName(claim);
    // Older states than this one must not be taken for what the reservation waits for.
    if (versionOf(claim) !== undefined) this.set(claim);
    for (const { state } of takes) {
      for (const [other, holder] of state.owners ?? []) {
        if (other !== owner) throw new DeviceInUseError(state.id, name, `claim ${holder.name} holds it`);
      }
    }
    const hold: Hold = { owner, name, takes, stored: false, state: "open" };
    const known = this.#holds.get(owner);
    if (known === undefined) this.#holds.set(owner, new Set([hold]));
    else known.add(hold);
    for (const take of takes) this.#take(take, owner, name);
    return hold;
  }

  /** Capacities and counters may have been taken since the allocation was computed. */
  #checkRoom(hold: Hold): void {
    for (const { state, share } of hold.takes) {
      const lack = this.#options.overdrawn(state, share !== undefined);
      if (lack !== undefined) throw new DeviceInUseError(state.id, hold.name, lack);
    }
  }

  #end(hold: Hold): void {
    if (hold.state === "over") return;
    hold.state = "over";
    for (const take of hold.takes) this.#giveBack(take, hold.owner);
    const holds = this.#holds.get(hold.owner);
    holds?.delete(hold);
    if (holds?.size === 0) this.#holds.delete(hold.owner);
  }

  /** Admin access takes nothing away from others (KEP-5018). */
  #takes(allocation: AllocationResult): Take[] {
    return (allocation.devices?.results ?? [])
      .filter((result) => result.adminAccess !== true)
      .map((result) => this.#takeOf(result));
  }

  #takeOf(result: DeviceRequestAllocationResult): Take {
    const state = this.#state(result.driver, result.pool, result.device);
    if (!this.#options.sharing || !result.shareID) return { state, share: undefined, consumed: undefined };
    const consumed = Object.entries(result.consumedCapacity ?? {}).map(
      ([key, value]) => [key, Quantity.parse(value).nanoValue()] as const,
    );
    return { state, share: result.shareID, consumed: new Map(consumed) };
  }

  #take({ state, share, consumed }: Take, owner: string, name: string): void {
    const holders = (share === undefined ? state.owners : state.shares) ?? new Map<string, Holder>();
    if (share === undefined) state.owners = holders;
    else state.shares = holders;
    const key = share === undefined ? owner : `${owner} ${share}`;
    const holder = holders.get(key);
    if (holder !== undefined) {
      holder.times++;
      return;
    }
    holders.set(key, { name, consumed, times: 1 });
    if (consumed !== undefined) this.#charge(state, consumed, 1n);
    this.#changed(state);
  }

  #giveBack({ state, share }: Take, owner: string): void {
    const holders = share === undefined ? state.owners : state.shares;
    const key = share === undefined ? owner : `${owner} ${share}`;
    const holder = holders?.get(key);
    if (holders === undefined || holder === undefined || --holder.times > 0) return;
    holders.delete(key);
    if (holders.size === 0) {
      if (share === undefined) state.owners = undefined;
      else state.shares = undefined;
    }
    if (holder.consumed !== undefined) this.#charge(state, holder.consumed, -1n);
    this.#changed(state);
    this.#drop(state);
  }

  #charge(state: DeviceState, consumed: Amounts, sign: bigint): void {
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

function sameTake(a: Take, b: Take): boolean {
  return a.state === b.state && a.share === b.share;
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
