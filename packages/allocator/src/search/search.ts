import { AllocationError } from "../rules/allocation-error.ts";
import type { Check } from "../rules/check.ts";
import { resultsLimit } from "../rules/prepared-claims.ts";
import { Taken } from "./allocating-state.ts";
import { Equivalence } from "./equivalence.ts";
import type { Option, OptionClaim, Problem } from "./problem.ts";

/** A device picked for a request. */
export interface Picked {
  readonly option: Option;
  readonly position: number;
}

/** For each claim the options of its requests and the devices that they get. */
export type Solution = readonly { readonly options: readonly Option[]; readonly picks: readonly Picked[] }[];

/** Told what becomes of devices; a search that is observed leaves nothing out. */
export interface Observer {
  /** A device was picked, or given back. */
  picked(picks: readonly Picked[]): void;
  /** A check that depends on what was picked before rules a device out; what it depends on is in `taken` still. */
  refused(check: Check, option: Option, position: number, taken: Taken, constraint: number): void;
}

/** One device of one request, in the course of the search. */
interface Place {
  readonly claim: number;
  readonly request: number;
  /** Which of the request's devices. */
  readonly index: number;
  option: number;
  /** The next candidate to try. */
  cursor: number;
  /** The device; `open`: none yet, `nobody`: none is wanted. */
  picked: number;
  /** All alternatives up to now would have needed more devices than a claim may have. */
  exceeded: boolean;
  /** What was found to fail here, of interchangeable devices one. */
  failed: Set<string> | undefined;
  /** The state of the search when it was opened. */
  key: string | undefined;
}

const open = -1;
const nobody = -2;
/** After so many dead ends it pays to find out which devices are interchangeable. */
const patience = 8;

/**
 * Depth first, in upstream's order: claims, requests, alternatives, devices. The first solution is the answer, the first
 * error too. What is left out can contain neither: the same state met again, devices interchangeable with one that has
 * failed (`Equivalence`), and devices that are in no solution (`infeasible`).
 *
 * A state stands for all that are alike although the devices behind the cursor may differ: of interchangeable devices the
 * first ones are taken first, so that the state met first leaves the most, and one met later can neither succeed, nor
 * reach the limit, nor come to a device that fails, where that one did not.
 */
export class Search {
  readonly #problem: Problem;
  readonly #observer: Observer | undefined;
  readonly #taken: Taken;
  readonly #places: Place[] = [];
  /** How many devices each claim has. */
  readonly #results: number[];
  /** States that are known to lead nowhere, and how. */
  readonly #known = new Map<string, "failed" | "exceeded">();
  #equivalence: Equivalence | undefined;
  #deadEnds = 0;
  #impossible = false;

  constructor(problem: Problem, observer?: Observer) {
    this.#problem = problem;
    this.#observer = observer;
    this.#results = problem.claims.map(() => 0);
    this.#taken = new Taken(
      problem,
      observer && ((option, position, i) => observer.refused("constraint", option, position, this.#taken, i)),
    );
  }

  /** The first solution; null: there is none; undefined: stopped, call again to go on. Throws AllocationError. */
  run(shouldStop?: () => boolean): Solution | null | undefined {
    if (this.#places.length === 0 && !this.#advance()) return this.#solution();
    for (let begun = false; ; begun = true) {
      const place = this.#places.at(-1);
      if (place === undefined || this.#impossible) return null;
      // Each run goes at least one step on.
      if (begun && shouldStop?.() === true) {
        this.#taken.freeze();
        return undefined;
      }
      if (place.picked !== open) this.#fruitless(place);
      if (!this.#pick(place)) {
        this.#deadEnd();
        if (!this.#nextOption(place, false)) this.#close(place, "failed");
      } else if (!this.#advance()) return this.#solution();
    }
  }

  #option(place: Place): Option {
    return this.#problem.claims[place.claim]!.requests[place.request]!.options[place.option]!;
  }

  #claim(place: Place): OptionClaim {
    return this.#problem.claims[place.claim]!;
  }

  /** Opens the place after the last one; false: all requests are served. */
  #advance(): boolean {
    const last = this.#places.at(-1);
    if (last !== undefined && last.index + 1 < this.#option(last).count) {
      // Devices of one request ascend, so that no combination is tried twice.
      const cursor = this.#option(last).all === undefined ? last.picked + 1 : 0;
      const { claim, request, option, index } = last;
      this.#open({ ...newPlace, claim, request, option, index: index + 1, cursor });
      return true;
    }
    let claim = last?.claim ?? 0;
    let request = last === undefined ? 0 : last.request + 1;
    while (request >= (this.#problem.claims[claim]?.requests.length ?? 0)) {
      if (++claim >= this.#problem.claims.length) return false;
      request = 0;
    }
    this.#open({ ...newPlace, claim, request });
    return true;
  }

  #open(place: Place): void {
    this.#places.push(place);
    if (this.#equivalence !== undefined) {
      place.key = this.#keyOf(place);
      const known = this.#known.get(place.key);
      if (known === "failed") this.#close(place, "failed");
      else if (known === "exceeded") this.#exceed(true);
      if (known !== undefined) return;
    }
    if (place.index === 0 && !this.#fitsLimit(place)) this.#exceed(false);
  }

  /** The last place leads nowhere. */
  #close(place: Place, result: "failed" | "exceeded"): void {
    if (place.key !== undefined) this.#known.set(place.key, result);
    this.#places.pop();
  }

  #fitsLimit(place: Place): boolean {
    return this.#option(place).count <= resultsLimit - this.#results[place.claim]!;
  }

  /** Goes on to the next alternative of the request that fits the limit; false: there is none. */
  #nextOption(place: Place, exceeded: boolean): boolean {
    const { options, list } = this.#claim(place).requests[place.request]!;
    if (!list || place.index > 0) return false;
    if (!exceeded) place.exceeded = false;
    while (place.option + 1 < options.length) {
      place.option++;
      place.cursor = 0;
      place.failed = undefined;
      if (this.#fitsLimit(place)) return true;
    }
    return false;
  }

  /**
   * A claim would get more devices than the limit allows (upstream's errAllocationResultMaxSizeExceeded): other devices
   * for the requests before would not help, so they are not tried, up to one that has another alternative. `whole`: the
   * last place has no alternative that would do.
   */
  #exceed(whole: boolean): void {
    let hopeless = whole;
    for (;;) {
      const place = this.#places.at(-1)!;
      if (place.picked !== open) this.#giveBack(place);
      const list = this.#claim(place).requests[place.request]!.list && place.index === 0;
      if (list && !hopeless) {
        if (this.#nextOption(place, true)) return;
        if (!place.exceeded) {
          this.#close(place, "failed");
          return;
        }
      }
      hopeless = false;
      this.#close(place, "exceeded");
      const before = this.#places.at(-1);
      this.#impossible = before === undefined;
      // Another claim before may leave more to this one.
      if (before?.claim !== place.claim) return;
    }
  }

  #deadEnd(): void {
    if (++this.#deadEnds !== patience || this.#observer !== undefined) return;
    this.#equivalence = new Equivalence(this.#problem, this.#taken);
    this.#impossible = this.#equivalence.impossible;
  }

  /** Nothing followed from the device that was picked last. */
  #fruitless(place: Place): void {
    const position = place.picked;
    this.#giveBack(place);
    if (position >= 0) this.#ruleOut(place, position);
  }

  #ruleOut(place: Place, position: number): void {
    if (this.#equivalence === undefined) return;
    place.failed ??= new Set();
    place.failed.add(this.#kindOf(position));
  }

  /** Finds the next device for a place, from its cursor on. Throws AllocationError. */
  #pick(place: Place): boolean {
    const option = this.#option(place);
    if (option.all !== undefined) {
      // The devices are fixed: the place of number n takes the n-th or nothing.
      if (place.cursor > 0 || place.index >= option.all.length) return false;
      place.cursor = 1;
      return this.#take(place, option, option.all[place.index]!, true);
    }
    if (option.count === 0) {
      if (place.cursor > 0) return false;
      place.cursor = 1;
      place.picked = nobody;
      return true;
    }
    const usable = this.#equivalence?.usable(option);
    while (place.cursor < this.#problem.devices.length) {
      const position = place.cursor++;
      if (usable !== undefined && usable[position] === 0) continue;
      if (!this.#taken.free(option, position, place.claim)) {
        this.#observer?.refused("in-use", option, position, this.#taken, -1);
        continue;
      }
      if (!this.#problem.selectable(option, position)) continue;
      if (place.failed?.has(this.#kindOf(position)) === true) continue;
      if (!this.#hasCapacity(option, position)) continue;
      if (this.#take(place, option, position, false)) return true;
      this.#ruleOut(place, position);
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
    if (demand.type === "consumes" && this.#taken.fitsCapacity(option, position)) return true;
    this.#observer?.refused("capacity", option, position, this.#taken, -1);
    return false;
  }

  #take(place: Place, option: Option, position: number, must: boolean): boolean {
    const refusal = this.#taken.take(option, position, place.claim, must);
    if (refusal !== undefined) {
      if (refusal !== "constraint") this.#observer?.refused(refusal, option, position, this.#taken, -1);
      return false;
    }
    place.picked = position;
    this.#results[place.claim]!++;
    this.#observer?.picked(this.#picks(this.#places));
    return true;
  }

  #giveBack(place: Place): void {
    const position = place.picked;
    place.picked = open;
    if (position === nobody) return;
    this.#taken.giveBack(this.#option(place), position);
    this.#results[place.claim]!--;
    this.#observer?.picked(this.#picks(this.#places));
  }

  /** Devices of one kind are interchangeable in this state of the search. */
  #kindOf(position: number): string {
    return this.#equivalence!.kinds[position]! + this.#taken.stateOf(position);
  }

  /** What the outcome depends on from a new place on. */
  #keyOf({ claim, request, index, option, cursor }: Place): string {
    // Admin access may take no counters.
    const kinds = this.#picks(this.#places).map(
      ({ option, position }) => `${option.alternative.adminAccess ? "+" : ""}${this.#kindOf(position)}`,
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

  #picks(places: readonly Place[]): Picked[] {
    return places
      .filter(({ picked }) => picked >= 0)
      .map((place) => ({ option: this.#option(place), position: place.picked }));
  }

  #solution(): Solution {
    return this.#problem.claims.map((_, claim) => {
      const places = this.#places.filter((place) => place.claim === claim);
      const first = places.filter(({ index }) => index === 0);
      return { options: first.map((place) => this.#option(place)), picks: this.#picks(places) };
    });
  }
}

const newPlace: Place = {
  claim: 0,
  request: 0,
  index: 0,
  option: 0,
  cursor: 0,
  picked: open,
  exceeded: true,
  failed: undefined,
  key: undefined,
};
