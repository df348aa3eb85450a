import type { DeviceTaint } from "@dray/api/resource/v1";
import type { DeviceState } from "../devices/device-state.ts";
import { AllocationError } from "../rules/allocation-error.ts";
import type { Check } from "../rules/check.ts";
import { admits, join, type OpenGroups } from "../rules/compatibility-groups.ts";
import type { Consumption, PoolCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { Option, Problem } from "./problem.ts";

/** The part of a device's state that a search looks at. */
export type Base = Readonly<Pick<DeviceState, "owned" | "shared" | "consumed">>;

/** Counters and groups of one pool that a search has taken. */
interface PoolPicks {
  readonly available: readonly bigint[];
  /** Allocated devices consume more than there is of some counter: nothing more can be had. */
  readonly overdrawn: boolean;
  readonly consumed: bigint[];
  readonly groups: Map<string, OpenGroups>;
}

/** What shares of one device consume that a search has taken; without amounts where the device has no capacity. */
interface Shares {
  count: number;
  readonly amounts: Map<string, bigint>;
}

/** Told which constraint a device would break, while the constraint knows it. */
export type Broken = (option: Option, position: number, constraint: number) => void;

/** The devices, shares, counters, groups and values of constraints that a search has taken on top of what others have. */
export class Taken {
  readonly #problem: Problem;
  readonly #broken: Broken | undefined;
  /** For each device taken as a whole the claims that took it. */
  readonly #pickers: (number[] | undefined)[];
  readonly #shares: (Shares | undefined)[];
  readonly #pools = new Map<PoolCounters, PoolPicks>();
  /** Groups before each device that was charged, to be put back. */
  readonly #groupsBefore: (readonly {
    readonly picks: PoolPicks;
    readonly set: string;
    readonly open: OpenGroups | undefined;
  }[])[] = [];
  /** What devices were when the search was interrupted. */
  #bases: readonly Base[] | undefined;
  #taints: readonly (readonly DeviceTaint[])[] | undefined;

  constructor(problem: Problem, broken?: Broken) {
    this.#problem = problem;
    this.#broken = broken;
    this.#pickers = new Array(problem.devices.length);
    this.#shares = new Array(problem.devices.length);
  }

  /** What others have of a device. */
  base(position: number): Base {
    return this.#bases === undefined ? this.#problem.devices[position]!.state : this.#bases[position]!;
  }

  taints(position: number): readonly DeviceTaint[] {
    return this.#taints?.[position] ?? this.#problem.devices[position]!.taints;
  }

  /** What others leave of the counters of a pool, and what the search has taken of them. */
  counters(counters: PoolCounters): Readonly<Pick<PoolPicks, "available" | "consumed">> {
    return this.#poolPicks(counters);
  }

  /** What others take from now on does not concern the search: its caller looks at that when it is done. */
  freeze(): void {
    if (this.#bases !== undefined) return;
    for (const { counters } of this.#problem.view.pools)
      if (counters !== undefined) this.#poolPicks(counters);
    this.#taints = this.#problem.devices.map(({ taints }) => taints);
    this.#bases = this.#problem.devices.map(({ state }) => ({
      owned: state.owned,
      shared: state.shared,
      consumed: state.consumed === undefined ? undefined : new Map(state.consumed),
    }));
  }

  /** Admin access shares with everyone but its own claim (KEP-5018). */
  free(option: Option, position: number, claim: number): boolean {
    const pickers = this.#pickers[position];
    if (option.alternative.adminAccess) return pickers === undefined || !pickers.includes(claim);
    return pickers === undefined && !this.base(position).owned;
  }

  /** Whether what is left of the device's capacities is enough. */
  fitsCapacity(option: Option, position: number): boolean {
    return this.shortCapacity(option, position) === undefined;
  }

  /** The first capacity of which too little is left, with that; undefined: all suffice. */
  shortCapacity(
    option: Option,
    position: number,
  ): { readonly key: string; readonly left: bigint } | undefined {
    if (!this.#problem.features.consumableCapacity) return undefined;
    const demand = this.#problem.demand(option, position);
    if (demand.type !== "consumes") return undefined;
    const { consumed } = this.base(position);
    const own = this.#shares[position]?.amounts;
    for (const { key, amount, value } of demand.parts) {
      const left = value - (consumed?.get(key) ?? 0n) - (own?.get(key) ?? 0n);
      if (amount > left) return { key, left };
    }
    return undefined;
  }

  /**
   * Takes a device that is selectable, or says which check forbids it, and has then changed nothing. `must`: there is
   * no other device for it, so that a broken constraint is an AllocationError.
   */
  take(option: Option, position: number, claim: number, must: boolean): Check | undefined {
    const { features, devices } = this.#problem;
    const { device } = devices[position]!;
    if (!this.free(option, position, claim)) return "in-use";
    if (!this.#problem.operable(position)) return "gate";
    const charged = this.#charged(option, position);
    const refusal = charged ? this.#charge(position) : undefined;
    if (refusal !== undefined) return refusal;
    if (untolerated(this.taints(position), option.alternative.tolerations) !== undefined) {
      if (charged) this.#discharge(position);
      return "taint";
    }
    if (!this.#constrain(option, position, charged, must)) return "constraint";
    if (must && !this.fitsCapacity(option, position)) {
      for (const constraint of option.constraints) constraint.remove();
      if (charged) this.#discharge(position);
      return "capacity";
    }
    if (features.consumableCapacity && device.allowMultipleAllocations === true)
      this.#share(option, position);
    else if (this.#pickers[position] === undefined) this.#pickers[position] = [claim];
    else this.#pickers[position]!.push(claim);
    return undefined;
  }

  /** Gives back the device that was taken last. */
  giveBack(option: Option, position: number): void {
    if (this.#shares[position] !== undefined) this.#unshare(option, position);
    else {
      const pickers = this.#pickers[position]!;
      pickers.pop();
      if (pickers.length === 0) this.#pickers[position] = undefined;
    }
    for (const constraint of option.constraints) constraint.remove();
    if (this.#charged(option, position)) this.#discharge(position);
  }

  /** What the search has taken of a device, as text; "" for nothing. */
  stateOf(position: number): string {
    const pickers = this.#pickers[position];
    const shares = this.#shares[position];
    if (pickers === undefined && shares === undefined) return "";
    const amounts = shares === undefined ? "" : [...shares.amounts].sort().join();
    return `:${pickers?.join() ?? ""}:${shares?.count ?? 0}:${amounts}`;
  }

  /** Whether a device takes counters: a further share of one that is in use takes no more. */
  #charged(option: Option, position: number): boolean {
    if (!this.#problem.counts(option, position)) return false;
    return !(
      this.#problem.shares(position) &&
      (this.base(position).shared || this.#shares[position] !== undefined)
    );
  }

  #constrain(option: Option, position: number, charged: boolean, must: boolean): boolean {
    const record = this.#problem.devices[position]!;
    let added = 0;
    const takeBack = (): void => {
      for (let i = added - 1; i >= 0; i--) option.constraints[i]!.remove();
      if (charged) this.#discharge(position);
    };
    for (const constraint of option.constraints) {
      let holds: boolean;
      try {
        holds = constraint.add(this.#problem.attribute(option, record, constraint.attribute), record);
      } catch (error) {
        takeBack();
        throw error;
      }
      if (!holds) {
        this.#broken?.(option, position, added);
        takeBack();
        if (!must) return false;
        throw new AllocationError(
          `${option.alternative.where}: cannot add device ${record.id} because a claim constraint would not be satisfied`,
        );
      }
      added++;
    }
    return true;
  }

  #share(option: Option, position: number): void {
    this.#shares[position] ??= { count: 0, amounts: new Map() };
    const shares = this.#shares[position];
    shares.count++;
    const demand = this.#problem.demand(option, position);
    if (demand.type !== "consumes") return;
    for (const { key, amount } of demand.parts) {
      shares.amounts.set(key, (shares.amounts.get(key) ?? 0n) + amount);
    }
  }

  #unshare(option: Option, position: number): void {
    const shares = this.#shares[position]!;
    if (--shares.count === 0) {
      this.#shares[position] = undefined;
      return;
    }
    const demand = this.#problem.demand(option, position);
    if (demand.type !== "consumes") return;
    for (const { key, amount } of demand.parts) shares.amounts.set(key, shares.amounts.get(key)! - amount);
  }

  #poolPicks(counters: PoolCounters): PoolPicks {
    let picks = this.#pools.get(counters);
    if (picks === undefined) {
      const available = counters.available();
      picks = {
        available,
        overdrawn: counters.overdrawn,
        consumed: available.map(() => 0n),
        groups: new Map(),
      };
      this.#pools.set(counters, picks);
    }
    return picks;
  }

  /** Takes the counters of a device; a check that forbids it leaves all as it was. */
  #charge(position: number): Check | undefined {
    const counters = this.#problem.view.poolOf[position]!.counters!;
    const picks = this.#poolPicks(counters);
    const consumption = counters.consumption(this.#problem.devices[position]!);
    if (this.#problem.features.compatibilityGroups && !this.#joinGroups(counters, picks, consumption)) {
      return "compatibility-group";
    }
    const fits =
      !picks.overdrawn &&
      consumption.counters.every(
        (counter, i) => picks.available[counter]! - picks.consumed[counter]! >= consumption.amounts[i]!,
      );
    if (!fits) {
      if (this.#problem.features.compatibilityGroups) this.#leaveGroups();
      return "counter";
    }
    consumption.counters.forEach((counter, i) => {
      picks.consumed[counter]! += consumption.amounts[i]!;
    });
    return undefined;
  }

  #discharge(position: number): void {
    const counters = this.#problem.view.poolOf[position]!.counters!;
    const picks = this.#pools.get(counters)!;
    const consumption = counters.consumption(this.#problem.devices[position]!);
    consumption.counters.forEach((counter, i) => {
      picks.consumed[counter]! -= consumption.amounts[i]!;
    });
    if (this.#problem.features.compatibilityGroups) this.#leaveGroups();
  }

  #joinGroups(counters: PoolCounters, picks: PoolPicks, { sets }: Consumption): boolean {
    const before: { picks: PoolPicks; set: string; open: OpenGroups | undefined }[] = [];
    this.#groupsBefore.push(before);
    for (const { name, groups } of sets) {
      const known = picks.groups.get(name);
      const open = known ?? counters.openGroups(name);
      if (!admits(open, groups)) {
        this.#leaveGroups();
        return false;
      }
      before.push({ picks, set: name, open: known });
      picks.groups.set(name, join(open, groups));
    }
    return true;
  }

  #leaveGroups(): void {
    for (const { picks, set, open } of this.#groupsBefore.pop()!.toReversed()) {
      if (open === undefined) picks.groups.delete(set);
      else picks.groups.set(set, open);
    }
  }
}
