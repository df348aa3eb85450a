import type { AttributeConstraint } from "../rules/constraints.ts";
import { fitsBeside } from "../rules/consumable-capacity.ts";
import { matches } from "../rules/selectors.ts";
import { isDisjoint } from "../rules/sets.ts";
import type { SharedCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { AllocatingState } from "./allocating-state.ts";
import { hasPerfectMatching } from "./bipartite-matching.ts";
import type { Option, OptionClaim, Problem } from "./problem.ts";

/** The devices that each option may still get, by position. */
type CandidateDevices = Map<Option, Set<number>>;

const noPositions: ReadonlySet<number> = new Set();

/**
 * Excludes devices that are not part of any solution, by necessary conditions that are quick to check: enough
 * devices for each request and for all together, enough with one value under matchAttribute, enough values
 * under distinctAttribute, enough counters. Returns true if no solution exists, otherwise for each option 1
 * per device that is left.
 *
 * Only for problems in which no device can fail the attempt: a device that is skipped must not have been an
 * error.
 */
export function findInfeasible(
  problem: Problem,
  allocating: AllocatingState,
): true | ReadonlyMap<Option, Uint8Array> {
  const candidates: CandidateDevices = new Map();
  for (const { requests } of problem.claims) {
    for (const { options } of requests) {
      for (const option of options) candidates.set(option, candidatesOf(problem, option, allocating));
    }
  }
  for (let before = -1, after = total(candidates); after !== before; after = total(candidates)) {
    before = after;
    for (const claim of problem.claims) {
      for (const { options } of claim.requests) {
        for (const option of options)
          if (!hasEnough(problem, option, candidates, allocating)) remaining(candidates, option).clear();
        if (options.every((option) => !isPossible(option, candidates))) return true;
      }
      for (const constraint of claim.constraints)
        if (!isSatisfiable(problem, claim, constraint, candidates)) return true;
    }
  }
  if (!canServeAll(problem, candidates)) return true;
  return new Map(
    [...candidates].map(([option, positions]) => {
      const usable = new Uint8Array(problem.devices.length);
      for (const position of positions) usable[position] = 1;
      return [option, usable];
    }),
  );
}

/** The devices that an option may still get; `candidates` has all options of the problem. */
const remaining = (candidates: CandidateDevices, option: Option): Set<number> => candidates.get(option)!;

const total = (candidates: CandidateDevices): number => {
  let sum = 0;
  for (const positions of candidates.values()) sum += positions.size;
  return sum;
};

/** Reports whether an option may still be chosen. */
const isPossible = (option: Option, candidates: CandidateDevices): boolean =>
  option.count === 0 ? option.all === undefined : remaining(candidates, option).size > 0;

function candidatesOf(problem: Problem, option: Option, allocating: AllocatingState): Set<number> {
  const found = new Set<number>();
  for (let position = 0; position < problem.devices.length; position++) {
    if (problem.verdict(option, position) !== matches) continue;
    const allocated = allocating.allocated(position);
    if ((!option.alternative.adminAccess && allocated.isOwned) || !problem.isSupported(position)) continue;
    if (untolerated(allocating.taints(position), option.alternative.tolerations)) continue;
    const demand = problem.demand(option, position);
    if (demand.type !== "consumes") continue;
    if (!fitsBeside(demand.parts, allocated.consumed)) continue;
    found.add(position);
  }
  return found;
}

/** Reports whether an option has enough devices, as far as counters decide. */
function hasEnough(
  problem: Problem,
  option: Option,
  candidates: CandidateDevices,
  allocating: AllocatingState,
): boolean {
  const positions = remaining(candidates, option);
  if (option.all !== undefined) return option.all.length > 0 && option.all.every((p) => positions.has(p));
  if (positions.size < option.count) return false;
  return maxCountByCounters(problem, option, positions, allocating) >= option.count;
}

/** Returns an upper bound of the number of devices that fit into their counter sets. */
function maxCountByCounters(
  problem: Problem,
  option: Option,
  positions: ReadonlySet<number>,
  allocating: AllocatingState,
): number {
  let sum = 0;
  /**
   * By counter set: the number of devices, and the smallest amount of each counter that all of them consume.
   */
  const groups = new Map<
    string,
    { count: number; counters: SharedCounters; minAmounts: Map<number, bigint> }
  >();
  for (const position of positions) {
    const record = problem.devices[position]!;
    const { counters } = problem.view.poolOf[position]!;
    if (
      counters === undefined ||
      !problem.consumesCounters(option, position) ||
      allocating.allocated(position).isShared
    ) {
      sum++;
      continue;
    }
    const { sets, counters: consumed, amounts } = counters.consumption(record);
    const key = `${record.driver}/${record.pool}/${sets.map(({ name }) => name).join()}`;
    const own = new Map(consumed.map((counter, i) => [counter, amounts[i]!]));
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { count: 1, counters, minAmounts: own });
      continue;
    }
    group.count++;
    for (const [counter, amount] of group.minAmounts) {
      const other = own.get(counter);
      if (other === undefined) group.minAmounts.delete(counter);
      else if (other < amount) group.minAmounts.set(counter, other);
    }
  }
  for (const { count, counters, minAmounts } of groups.values()) {
    let fits = BigInt(count);
    const available = allocating.counters(counters).available;
    for (const [counter, amount] of minAmounts) {
      if (available[counter]! < amount) fits = 0n;
      else if (amount > 0n && available[counter]! / amount < fits) fits = available[counter]! / amount;
    }
    sum += Number(fits);
  }
  return sum;
}

/** Returns the requests that a constraint covers for every alternative, with their possible options. */
function coveredRequests(
  claim: OptionClaim,
  constraint: AttributeConstraint,
  candidates: CandidateDevices,
): Option[][] {
  return claim.requests
    .map(({ options }) => options.filter((option) => isPossible(option, candidates)))
    .filter((options) => options.every(({ constraints }) => constraints.includes(constraint)));
}

/**
 * Removes candidates whose value of the attribute occurs in no solution. Returns false if no value occurs in
 * one.
 */
function isSatisfiable(
  problem: Problem,
  claim: OptionClaim,
  constraint: AttributeConstraint,
  candidates: CandidateDevices,
): boolean {
  const values = (option: Option, position: number): ReadonlySet<string> => {
    const record = problem.devices[position]!;
    return problem.values.of(problem.attribute(option, record, constraint.attribute));
  };
  const keep = (isWanted: (option: Option, position: number) => boolean): void => {
    for (const { options } of claim.requests) {
      for (const option of options) {
        if (!option.constraints.includes(constraint)) continue;
        const positions = remaining(candidates, option);
        for (const position of positions) if (!isWanted(option, position)) positions.delete(position);
      }
    }
  };
  keep((option, position) => values(option, position).size > 0);
  const requests = coveredRequests(claim, constraint, candidates);
  if (requests.some((options) => options.length === 0)) return false;
  if (constraint.kind === "distinctAttribute") {
    // Each device needs a value of its own.
    const slots = requests.flatMap((options) => {
      const own = new Set(
        options.flatMap((option) =>
          [...remaining(candidates, option)].flatMap((p) => [...values(option, p)]),
        ),
      );
      return new Array<ReadonlySet<string>>(minCount(options)).fill(own);
    });
    return hasPerfectMatching(slots);
  }
  const common = commonValues(problem, requests, candidates, values);
  if (requests.length === 0) return true;
  if (common.size === 0 && requests.some((options) => minCount(options) > 0)) return false;
  keep((option, position) => !isDisjoint(values(option, position), common));
  return true;
}

const minCount = (options: readonly Option[]): number => Math.min(...options.map(({ count }) => count));

/** Returns the values with which devices for all these requests exist. */
function commonValues(
  problem: Problem,
  requests: readonly (readonly Option[])[],
  candidates: CandidateDevices,
  values: (option: Option, position: number) => ReadonlySet<string>,
): Set<string> {
  // Requests are often alike: options with the same candidates share an index.
  const indexes = new Map<string, Map<string, Set<number>>>();
  const byOption = new Map<Option, ReadonlyMap<string, ReadonlySet<number>>>();
  for (const option of requests.flat()) {
    const positions = remaining(candidates, option);
    const { derived } = option.alternative;
    const key = JSON.stringify([...(derived ?? []), ...positions]);
    let byValue = indexes.get(key);
    if (byValue === undefined) {
      byValue = new Map();
      indexes.set(key, byValue);
      for (const position of positions) {
        for (const value of values(option, position)) {
          const withValue = byValue.get(value);
          if (withValue === undefined) byValue.set(value, new Set([position]));
          else withValue.add(position);
        }
      }
    }
    byOption.set(option, byValue);
  }
  // Devices that requests need for themselves, whatever their values.
  const minDevices = slotsOf(problem, requests, (option) => remaining(candidates, option)).length;
  const maps = [...indexes.values()];
  const common = new Set<string>();
  for (const value of new Set(maps.flatMap((byValue) => [...byValue.keys()]))) {
    const maxDevices = maps.reduce((sum, byValue) => sum + (byValue.get(value)?.size ?? 0), 0);
    if (maxDevices < minDevices) continue;
    // The options of all requests are in it.
    const withValue = (option: Option) => byOption.get(option)!.get(value) ?? noPositions;
    if (!requests.every((options) => options.some((option) => withValue(option).size >= option.count)))
      continue;
    if (hasPerfectMatching(slotsOf(problem, requests, withValue))) common.add(value);
  }
  return common;
}

/**
 * Returns a slot for each requested device, with the suitable devices. Requests for shareable devices have no
 * slots.
 */
function slotsOf(
  problem: Problem,
  requests: readonly (readonly Option[])[],
  positionsOf: (option: Option) => ReadonlySet<number>,
): ReadonlySet<number>[] {
  const slots: ReadonlySet<number>[] = [];
  for (const options of requests) {
    if (options.some(({ alternative }) => alternative.adminAccess)) continue;
    const sets = [...new Set(options.map(positionsOf))];
    const own = sets.length === 1 ? sets[0]! : new Set(sets.flatMap((positions) => [...positions]));
    if ([...own].some((position) => problem.isShareable(position))) continue;
    for (let i = minCount(options); i > 0; i--) slots.push(own);
  }
  return slots;
}

/** Reports whether all requests can have different devices. */
function canServeAll(problem: Problem, candidates: CandidateDevices): boolean {
  const requests = problem.claims.flatMap((claim) =>
    claim.requests.map(({ options }) => options.filter((option) => isPossible(option, candidates))),
  );
  return hasPerfectMatching(slotsOf(problem, requests, (option) => remaining(candidates, option)));
}
