import type { DeviceTaint } from "@dray/api/resource/v1";
import { AllocationError } from "../devices/allocation-error.ts";
import type { DeviceState } from "../devices/device-state.ts";
import type { Check } from "../rules/check.ts";
import { admitsGroups, joinGroups, type OpenGroups } from "../rules/compatibility-groups.ts";
import type { CapacityPart } from "../rules/consumable-capacity.ts";
import type { CounterConsumption, SharedCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { Option, Problem } from "./problem.ts";

/** The fields of an allocated device that the search reads. */
export type AllocatedDeviceState = Readonly<Pick<DeviceState, "isOwned" | "isShared" | "consumed">>;

/** Shared counters and compatibility groups of one pool in the course of a search. */
interface AllocatingCounters {
  readonly available: readonly bigint[];
  /** Other claims exceed some counter: no device that consumes counters can be allocated. */
  readonly overdrawn: boolean;
  readonly consumed: bigint[];
  readonly groups: Map<string, OpenGroups>;
}

/** Shares of one device that the search has allocated. `amounts` is empty if the device has no capacity. */
interface AllocatingShares {
  count: number;
  readonly amounts: Map<string, bigint>;
}

/** Called with the constraint that a device would break, before the constraint is changed. */
export type ConstraintBroken = (option: Option, position: number, constraint: number) => void;

/**
 * Allocations of the search so far, in addition to those of other claims: devices, shares, counters, groups,
 * and values of constraints.
 *
 * Upstream: structured/internal/experimental, allocator.allocatingDevices and allocatingCapacity.
 */
export class AllocatingState {
  readonly #problem: Problem;
  readonly #constraintBroken: ConstraintBroken | undefined;
  /** For each device that is allocated as a whole, the claims that have it. */
  readonly #claims: (number[] | undefined)[];
  readonly #shares: (AllocatingShares | undefined)[];
  readonly #counters = new Map<SharedCounters, AllocatingCounters>();
  /** For each device that consumes counters, the groups before it was allocated. */
  readonly #groupsBefore: (readonly {
    readonly counters: AllocatingCounters;
    readonly set: string;
    readonly open: OpenGroups | undefined;
  }[])[] = [];
  /** Snapshots made by `freeze`. */
  #allocated: readonly AllocatedDeviceState[] | undefined;
  #taints: readonly (readonly DeviceTaint[])[] | undefined;

  constructor(problem: Problem, constraintBroken?: ConstraintBroken) {
    this.#problem = problem;
    this.#constraintBroken = constraintBroken;
    this.#claims = new Array(problem.devices.length);
    this.#shares = new Array(problem.devices.length);
  }

  /** Returns the allocation of a device by other claims. */
  allocated(position: number): AllocatedDeviceState {
    return this.#allocated === undefined
      ? this.#problem.devices[position]!.state
      : this.#allocated[position]!;
  }

  taints(position: number): readonly DeviceTaint[] {
    return this.#taints?.[position] ?? this.#problem.devices[position]!.taints;
  }

  /** Returns the counters of a pool that other claims leave, and the search's consumption of them. */
  counters(counters: SharedCounters): Readonly<Pick<AllocatingCounters, "available" | "consumed">> {
    return this.#allocatingCounters(counters);
  }

  /** Takes a snapshot of other claims' allocations: later changes do not affect the search. */
  freeze(): void {
    if (this.#allocated !== undefined) return;
    for (const { counters } of this.#problem.view.pools)
      if (counters !== undefined) this.#allocatingCounters(counters);
    this.#taints = this.#problem.devices.map(({ taints }) => taints);
    this.#allocated = this.#problem.devices.map(({ state }) => ({
      isOwned: state.isOwned,
      isShared: state.isShared,
      consumed: state.consumed === undefined ? undefined : new Map(state.consumed),
    }));
  }

  /**
   * Reports whether the claim can have the device. With admin access only the claim itself blocks it
   * (KEP-5018).
   */
  isFree(option: Option, position: number, claim: number): boolean {
    const claims = this.#claims[position];
    if (option.alternative.adminAccess) return claims === undefined || !claims.includes(claim);
    return claims === undefined && !this.allocated(position).isOwned;
  }

  hasCapacity(option: Option, position: number): boolean {
    return this.missingCapacity(option, position) === undefined;
  }

  /** Returns the first insufficient capacity and the rest of it; undefined if all suffice. */
  missingCapacity(
    option: Option,
    position: number,
  ): { readonly part: CapacityPart; readonly left: bigint } | undefined {
    if (!this.#problem.features.consumableCapacity) return undefined;
    const demand = this.#problem.demand(option, position);
    if (demand.type !== "consumes") return undefined;
    const { consumed } = this.allocated(position);
    const own = this.#shares[position]?.amounts;
    for (const part of demand.parts) {
      const left = part.value - (consumed?.get(part.key) ?? 0n) - (own?.get(part.key) ?? 0n);
      if (part.amount > left) return { part, left };
    }
    return undefined;
  }

  /** Returns what other claims and the search have of each capacity of a device. */
  consumedCapacity(position: number): ReadonlyMap<string, bigint> {
    const consumed = new Map(this.allocated(position).consumed);
    for (const [key, amount] of this.#shares[position]?.amounts ?? [])
      consumed.set(key, (consumed.get(key) ?? 0n) + amount);
    return consumed;
  }

  /**
   * Allocates a selectable device. Returns the check that fails, without a change. `must`: no other device
   * can replace it, so that a broken constraint throws AllocationError.
   */
  allocate(option: Option, position: number, claim: number, must: boolean): Check | undefined {
    const { features, devices } = this.#problem;
    const { device } = devices[position]!;
    if (!this.isFree(option, position, claim)) return "in-use";
    if (!this.#problem.isSupported(position)) return "gate";
    const consumes = this.#consumesCounters(option, position);
    const refusal = consumes ? this.#consumeCounters(position) : undefined;
    if (refusal !== undefined) return refusal;
    if (untolerated(this.taints(position), option.alternative.tolerations) !== undefined) {
      if (consumes) this.#releaseCounters(position);
      return "taint";
    }
    if (!this.#addToConstraints(option, position, consumes, must)) return "constraint";
    if (must && !this.hasCapacity(option, position)) {
      for (const constraint of option.constraints) constraint.removeLast();
      if (consumes) this.#releaseCounters(position);
      return "capacity";
    }
    if (features.consumableCapacity && device.allowMultipleAllocations === true)
      this.#addShare(option, position);
    else if (this.#claims[position] === undefined) this.#claims[position] = [claim];
    else this.#claims[position]!.push(claim);
    return undefined;
  }

  /** Undoes the last `allocate`. */
  deallocate(option: Option, position: number): void {
    if (this.#shares[position] !== undefined) this.#removeShare(option, position);
    else {
      const claims = this.#claims[position]!;
      claims.pop();
      if (claims.length === 0) this.#claims[position] = undefined;
    }
    for (const constraint of option.constraints) constraint.removeLast();
    if (this.#consumesCounters(option, position)) this.#releaseCounters(position);
  }

  /** Returns the search's allocation of a device as text; "" if it has none. */
  stateOf(position: number): string {
    const claims = this.#claims[position];
    const shares = this.#shares[position];
    if (claims === undefined && shares === undefined) return "";
    const amounts = shares === undefined ? "" : [...shares.amounts].sort().join();
    return `:${claims?.join() ?? ""}:${shares?.count ?? 0}:${amounts}`;
  }

  /** Only the first share of a device consumes counters. */
  #consumesCounters(option: Option, position: number): boolean {
    if (!this.#problem.consumesCounters(option, position)) return false;
    return !(
      this.#problem.isShareable(position) &&
      (this.allocated(position).isShared || this.#shares[position] !== undefined)
    );
  }

  #addToConstraints(option: Option, position: number, consumes: boolean, must: boolean): boolean {
    const record = this.#problem.devices[position]!;
    let added = 0;
    const undo = (): void => {
      for (let i = added - 1; i >= 0; i--) option.constraints[i]!.removeLast();
      if (consumes) this.#releaseCounters(position);
    };
    for (const constraint of option.constraints) {
      let holds: boolean;
      try {
        holds = constraint.add(this.#problem.attribute(option, record, constraint.attribute), record);
      } catch (error) {
        undo();
        throw error;
      }
      if (!holds) {
        this.#constraintBroken?.(option, position, added);
        undo();
        if (!must) return false;
        throw new AllocationError(
          `${option.alternative.where}: cannot add device ${record.id} because a claim constraint would not be satisfied`,
        );
      }
      added++;
    }
    return true;
  }

  #addShare(option: Option, position: number): void {
    this.#shares[position] ??= { count: 0, amounts: new Map() };
    const shares = this.#shares[position];
    shares.count++;
    const demand = this.#problem.demand(option, position);
    if (demand.type !== "consumes") return;
    for (const { key, amount } of demand.parts) {
      shares.amounts.set(key, (shares.amounts.get(key) ?? 0n) + amount);
    }
  }

  #removeShare(option: Option, position: number): void {
    const shares = this.#shares[position]!;
    if (--shares.count === 0) {
      this.#shares[position] = undefined;
      return;
    }
    const demand = this.#problem.demand(option, position);
    if (demand.type !== "consumes") return;
    // `#addShare` has added the same keys.
    for (const { key, amount } of demand.parts) shares.amounts.set(key, shares.amounts.get(key)! - amount);
  }

  #allocatingCounters(counters: SharedCounters): AllocatingCounters {
    let allocating = this.#counters.get(counters);
    if (allocating === undefined) {
      const available = counters.available();
      allocating = {
        available,
        overdrawn: counters.isOverdrawn,
        consumed: available.map(() => 0n),
        groups: new Map(),
      };
      this.#counters.set(counters, allocating);
    }
    return allocating;
  }

  /** Only for a device that consumes counters. */
  #countersOf(position: number): SharedCounters {
    // Its pool has them, or would be invalid.
    return this.#problem.view.poolOf[position]!.counters!;
  }

  /** Returns the check that fails, without a change. */
  #consumeCounters(position: number): Check | undefined {
    const counters = this.#countersOf(position);
    const allocating = this.#allocatingCounters(counters);
    const consumption = counters.consumption(this.#problem.devices[position]!);
    if (this.#problem.features.compatibilityGroups && !this.#joinGroups(counters, allocating, consumption)) {
      return "compatibility-group";
    }
    const fits =
      !allocating.overdrawn &&
      consumption.counters.every(
        (counter, i) =>
          allocating.available[counter]! - allocating.consumed[counter]! >= consumption.amounts[i]!,
      );
    if (!fits) {
      if (this.#problem.features.compatibilityGroups) this.#leaveGroups();
      return "counter";
    }
    consumption.counters.forEach((counter, i) => {
      allocating.consumed[counter]! += consumption.amounts[i]!;
    });
    return undefined;
  }

  #releaseCounters(position: number): void {
    const counters = this.#countersOf(position);
    const allocating = this.#allocatingCounters(counters);
    const consumption = counters.consumption(this.#problem.devices[position]!);
    consumption.counters.forEach((counter, i) => {
      allocating.consumed[counter]! -= consumption.amounts[i]!;
    });
    if (this.#problem.features.compatibilityGroups) this.#leaveGroups();
  }

  #joinGroups(
    counters: SharedCounters,
    allocating: AllocatingCounters,
    { sets }: CounterConsumption,
  ): boolean {
    const before: { counters: AllocatingCounters; set: string; open: OpenGroups | undefined }[] = [];
    this.#groupsBefore.push(before);
    for (const { name, groups } of sets) {
      const own = allocating.groups.get(name);
      const open = own ?? counters.openGroups(name);
      if (!admitsGroups(open, groups)) {
        this.#leaveGroups();
        return false;
      }
      before.push({ counters: allocating, set: name, open: own });
      allocating.groups.set(name, joinGroups(open, groups));
    }
    return true;
  }

  /** Undoes the last `#joinGroups`. */
  #leaveGroups(): void {
    // Each `#joinGroups` pushes one list.
    for (const { counters, set, open } of this.#groupsBefore.pop()!.toReversed()) {
      if (open === undefined) counters.groups.delete(set);
      else counters.groups.set(set, open);
    }
  }
}
