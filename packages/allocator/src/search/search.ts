import { AllocationError } from "../devices/allocation-error.ts";
import type { Check } from "../rules/check.ts";
import { maxResults } from "../rules/prepared-claims.ts";
import { AllocatingState } from "./allocating-state.ts";
import { Equivalence } from "./equivalence.ts";
import type { Option, OptionClaim, Problem } from "./problem.ts";

/** A device picked for a request. */
export interface PickedDevice {
  readonly option: Option;
  readonly position: number;
}

/** For each claim, the options chosen for its requests and their devices. */
export type Solution = readonly {
  readonly options: readonly Option[];
  readonly picks: readonly PickedDevice[];
}[];

/** Follows a search, which then prunes nothing. */
export interface SearchObserver {
  /** Called with all picks after a device was picked or given up. */
  picked(picks: readonly PickedDevice[]): void;
  /**
   * Called when a check that depends on earlier picks rules out a device. `allocating` is the state at that
   * time.
   */
  refused(check: Check, option: Option, position: number, allocating: AllocatingState): void;
  /** Called when a constraint rules out a device. `index` is its place in the constraints of the option. */
  refusedByConstraint(option: Option, position: number, index: number): void;
}

/** One level of the search: one device of one request. */
interface Level {
  readonly claim: number;
  readonly request: number;
  /** Index among the devices of the request. */
  readonly index: number;
  option: number;
  /** The next candidate to try. */
  cursor: number;
  /** Position of the device, or `unpicked`, or `noDevice` if the request has a count of 0. */
  picked: number;
  /** All alternatives so far would have exceeded the maximum number of devices of a claim. */
  exceeded: boolean;
  /** Kinds of devices (`Equivalence`) that have failed on this level. */
  failedKinds: Set<string> | undefined;
  /** State of the search when the level was opened. */
  key: string | undefined;
}

const unpicked = -1;
const noDevice = -2;
/** Number of dead ends after which pruning pays: it has to classify all devices first. */
const minDeadEnds = 8;

/**
 * Depth-first search in upstream's order: claims, requests, alternatives, devices. Its first solution or
 * error is the result. Pruning skips branches without either: a repeated state, a device interchangeable with
 * one that has failed (`Equivalence`), and devices that are not part of any solution (`findInfeasible`).
 *
 * Equal states may differ in the devices behind the cursor. Of interchangeable devices the first are picked
 * first, so the state that is met first has the most left: a later equal one cannot succeed, reach the limit,
 * or reach a failing device, unless the first did.
 */
export class Search {
  readonly #problem: Problem;
  readonly #observer: SearchObserver | undefined;
  readonly #allocating: AllocatingState;
  readonly #levels: Level[] = [];
  /** Number of devices of each claim. */
  readonly #results: number[];
  /** States without a solution, with the reason. */
  readonly #deadStates = new Map<string, "failed" | "exceeded">();
  #equivalence: Equivalence | undefined;
  #deadEnds = 0;
  #impossible = false;

  constructor(problem: Problem, observer?: SearchObserver) {
    this.#problem = problem;
    this.#observer = observer;
    this.#results = problem.claims.map(() => 0);
    this.#allocating = new AllocatingState(
      problem,
      observer && ((option, position, i) => observer.refusedByConstraint(option, position, i)),
    );
  }

  /**
   * Returns the first solution; null if no solution exists; undefined if stopped: the next call continues.
   * Throws AllocationError.
   */
  run(shouldStop?: () => boolean): Solution | null | undefined {
    if (this.#levels.length === 0 && !this.#advance()) return this.#solution();
    for (let begun = false; ; begun = true) {
      const level = this.#levels.at(-1);
      if (level === undefined || this.#impossible) return null;
      // Each run takes at least one step.
      if (begun && shouldStop?.() === true) {
        this.#allocating.freeze();
        return undefined;
      }
      if (level.picked !== unpicked) this.#backtrack(level);
      if (!this.#pick(level)) {
        this.#deadEnd();
        if (!this.#nextOption(level, false)) this.#close(level, "failed");
      } else if (!this.#advance()) return this.#solution();
    }
  }

  #option(level: Level): Option {
    return this.#problem.claims[level.claim]!.requests[level.request]!.options[level.option]!;
  }

  #claim(level: Level): OptionClaim {
    return this.#problem.claims[level.claim]!;
  }

  /** Opens the next level. Returns false if all requests are served. */
  #advance(): boolean {
    const last = this.#levels.at(-1);
    if (last !== undefined && last.index + 1 < this.#option(last).count) {
      // Devices of one request are picked in ascending order: no combination is tried twice.
      const cursor = this.#option(last).all === undefined ? last.picked + 1 : 0;
      const { claim, request, option, index } = last;
      this.#open({ ...newLevel, claim, request, option, index: index + 1, cursor });
      return true;
    }
    let claim = last?.claim ?? 0;
    let request = last === undefined ? 0 : last.request + 1;
    while (request >= (this.#problem.claims[claim]?.requests.length ?? 0)) {
      if (++claim >= this.#problem.claims.length) return false;
      request = 0;
    }
    this.#open({ ...newLevel, claim, request });
    return true;
  }

  #open(level: Level): void {
    this.#levels.push(level);
    if (this.#equivalence !== undefined) {
      level.key = this.#keyOf(level, this.#equivalence);
      const reason = this.#deadStates.get(level.key);
      if (reason === "failed") this.#close(level, "failed");
      else if (reason === "exceeded") this.#exceed(level, true);
      if (reason !== undefined) return;
    }
    if (level.index === 0 && !this.#fitsLimit(level)) this.#exceed(level, false);
  }

  /** Closes the last level, which has no solution. */
  #close(level: Level, reason: "failed" | "exceeded"): void {
    if (level.key !== undefined) this.#deadStates.set(level.key, reason);
    this.#levels.pop();
  }

  #fitsLimit(level: Level): boolean {
    return this.#option(level).count <= maxResults - this.#results[level.claim]!;
  }

  /** Selects the next alternative of the request that fits the limit. Returns false after the last one. */
  #nextOption(level: Level, exceeded: boolean): boolean {
    const { options, list } = this.#claim(level).requests[level.request]!;
    if (!list || level.index > 0) return false;
    if (!exceeded) level.exceeded = false;
    while (level.option + 1 < options.length) {
      level.option++;
      level.cursor = 0;
      level.failedKinds = undefined;
      if (this.#fitsLimit(level)) return true;
    }
    return false;
  }

  /**
   * Closes levels of a claim that would exceed its maximum number of devices, back to a level with another
   * alternative: other devices for the requests before would not help. `all`: no alternative of the last
   * level fits.
   *
   * Upstream: errAllocationResultMaxSizeExceeded.
   */
  #exceed(last: Level, all: boolean): void {
    let level = last;
    let hopeless = all;
    for (;;) {
      if (level.picked !== unpicked) this.#giveUp(level);
      const list = this.#claim(level).requests[level.request]!.list && level.index === 0;
      if (list && !hopeless) {
        if (this.#nextOption(level, true)) return;
        if (!level.exceeded) {
          this.#close(level, "failed");
          return;
        }
      }
      hopeless = false;
      this.#close(level, "exceeded");
      const before = this.#levels.at(-1);
      this.#impossible = before === undefined;
      // Other devices for an earlier claim may leave more to this one.
      if (before === undefined || before.claim !== level.claim) return;
      level = before;
    }
  }

  #deadEnd(): void {
    if (++this.#deadEnds !== minDeadEnds || this.#observer !== undefined) return;
    this.#equivalence = new Equivalence(this.#problem, this.#allocating);
    this.#impossible = this.#equivalence.impossible;
  }

  /** Gives up the device of a level: it has led to a dead end. */
  #backtrack(level: Level): void {
    const position = level.picked;
    this.#giveUp(level);
    if (position >= 0) this.#markFailed(level, position);
  }

  #markFailed(level: Level, position: number): void {
    if (this.#equivalence === undefined) return;
    level.failedKinds ??= new Set();
    level.failedKinds.add(this.#kindOf(position, this.#equivalence));
  }

  /**
   * Picks the next device of a level, from its cursor on. Returns false if no device is left. Throws
   * AllocationError.
   */
  #pick(level: Level): boolean {
    const option = this.#option(level);
    if (option.all !== undefined) {
      // Mode All: the level with index n gets the n-th device or none.
      if (level.cursor > 0 || level.index >= option.all.length) return false;
      level.cursor = 1;
      return this.#allocate(level, option, option.all[level.index]!, true);
    }
    if (option.count === 0) {
      if (level.cursor > 0) return false;
      level.cursor = 1;
      level.picked = noDevice;
      return true;
    }
    const equivalence = this.#equivalence;
    const usable = equivalence?.usable(option);
    while (level.cursor < this.#problem.devices.length) {
      const position = level.cursor++;
      if (usable !== undefined && usable[position] === 0) continue;
      if (!this.#allocating.isFree(option, position, level.claim)) {
        this.#observer?.refused("in-use", option, position, this.#allocating);
        continue;
      }
      if (!this.#problem.isSelectable(option, position)) continue;
      if (equivalence !== undefined && level.failedKinds?.has(this.#kindOf(position, equivalence))) continue;
      if (!this.#hasCapacity(option, position)) continue;
      if (this.#allocate(level, option, position, false)) return true;
      this.#markFailed(level, position);
    }
    return false;
  }

  /** Throws AllocationError. */
  #hasCapacity(option: Option, position: number): boolean {
    const demand = this.#problem.demand(option, position);
    if (demand.type === "error") {
      throw new AllocationError(
        `${option.alternative.where}: checking capacity for device ${this.#problem.devices[position]!.id}: ${demand.message}`,
      );
    }
    if (demand.type === "consumes" && this.#allocating.hasCapacity(option, position)) return true;
    this.#observer?.refused("capacity", option, position, this.#allocating);
    return false;
  }

  #allocate(level: Level, option: Option, position: number, must: boolean): boolean {
    const refusal = this.#allocating.allocate(option, position, level.claim, must);
    if (refusal !== undefined) {
      if (refusal !== "constraint") this.#observer?.refused(refusal, option, position, this.#allocating);
      return false;
    }
    level.picked = position;
    this.#results[level.claim]!++;
    this.#observer?.picked(this.#picks(this.#levels));
    return true;
  }

  #giveUp(level: Level): void {
    const position = level.picked;
    level.picked = unpicked;
    if (position === noDevice) return;
    this.#allocating.deallocate(this.#option(level), position);
    this.#results[level.claim]!--;
    this.#observer?.picked(this.#picks(this.#levels));
  }

  /** Returns the same text for devices that are interchangeable in this state of the search. */
  #kindOf(position: number, { kinds }: Equivalence): string {
    return kinds[position]! + this.#allocating.stateOf(position);
  }

  /** Returns the state on which the result of a new level depends. */
  #keyOf({ claim, request, index, option, cursor }: Level, equivalence: Equivalence): string {
    // Depending on a correction, admin access consumes no counters.
    const kinds = this.#picks(this.#levels).map(
      ({ option, position }) =>
        `${option.alternative.adminAccess ? "+" : ""}${this.#kindOf(position, equivalence)}`,
    );
    const values = this.#problem.claims[claim]!.constraints.map(({ state }) => state);
    return JSON.stringify([
      claim,
      request,
      index,
      option,
      cursor,
      this.#results[claim],
      values,
      kinds.sort(),
    ]);
  }

  #picks(levels: readonly Level[]): PickedDevice[] {
    return levels
      .filter(({ picked }) => picked >= 0)
      .map((level) => ({ option: this.#option(level), position: level.picked }));
  }

  #solution(): Solution {
    return this.#problem.claims.map((_, claim) => {
      const levels = this.#levels.filter((level) => level.claim === claim);
      const first = levels.filter(({ index }) => index === 0);
      return { options: first.map((level) => this.#option(level)), picks: this.#picks(levels) };
    });
  }
}

const newLevel: Level = {
  claim: 0,
  request: 0,
  index: 0,
  option: 0,
  cursor: 0,
  picked: unpicked,
  exceeded: true,
  failedKinds: undefined,
  key: undefined,
};
