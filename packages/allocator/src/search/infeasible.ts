import { type AttributeConstraint, valuesOf } from "../rules/constraints.ts";
import { fitsBeside } from "../rules/consumable-capacity.ts";
import { matches } from "../rules/selectors.ts";
import { isDisjoint } from "../rules/sets.ts";
import type { PoolCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { Taken } from "./allocating-state.ts";
import { allMatched } from "./bipartite-matching.ts";
import type { Option, OptionClaim, Problem } from "./problem.ts";

/** The devices that an option may still get, by position. */
type Candidates = Map<Option, Set<number>>;

/**
 * Rules out what cannot be in any solution, from necessary conditions that are quick to check: enough devices for each
 * request alone and for all together, enough with one value under matchAttribute, enough values under
 * distinctAttribute, enough counters. Answers true where there is no solution, else the devices left for each option.
 * Only for problems in which no device can fail the attempt: what is skipped must not have been an error.
 */
export function infeasible(problem: Problem, taken: Taken): true | ReadonlyMap<Option, Uint8Array> {
  const candidates: Candidates = new Map();
  for (const { requests } of problem.claims) {
    for (const { options } of requests) {
      for (const option of options) candidates.set(option, possible(problem, option, taken));
    }
  }
  for (let before = -1, after = total(candidates); after !== before; after = total(candidates)) {
    before = after;
    for (const claim of problem.claims) {
      for (const { options } of claim.requests) {
        for (const option of options)
          if (!enough(problem, option, candidates, taken)) candidates.get(option)!.clear();
        if (options.every((option) => !left(option, candidates))) return true;
      }
      for (const constraint of claim.constraints)
        if (!satisfiable(problem, claim, constraint, candidates)) return true;
    }
  }
  if (!placeable(problem, candidates)) return true;
  return new Map(
    [...candidates].map(([option, positions]) => {
      const usable = new Uint8Array(problem.devices.length);
      for (const position of positions) usable[position] = 1;
      return [option, usable];
    }),
  );
}

const total = (candidates: Candidates): number => {
  let sum = 0;
  for (const positions of candidates.values()) sum += positions.size;
  return sum;
};

/** Whether an option may be chosen still. */
const left = (option: Option, candidates: Candidates): boolean =>
  option.count === 0 ? option.all === undefined : candidates.get(option)!.size > 0;

function possible(problem: Problem, option: Option, taken: Taken): Set<number> {
  const found = new Set<number>();
  for (let position = 0; position < problem.devices.length; position++) {
    if (problem.verdict(option, position) !== matches) continue;
    const base = taken.base(position);
    if ((!option.alternative.adminAccess && base.owned) || !problem.operable(position)) continue;
    if (untolerated(taken.taints(position), option.alternative.tolerations)) continue;
    const demand = problem.demand(option, position);
    if (demand.type !== "consumes") continue;
    if (!fitsBeside(demand.parts, base.consumed)) continue;
    found.add(position);
  }
  return found;
}

/** Whether an option has as many devices as it wants, as far as counters allow. */
function enough(problem: Problem, option: Option, candidates: Candidates, taken: Taken): boolean {
  const positions = candidates.get(option)!;
  if (option.all !== undefined) return option.all.length > 0 && option.all.every((p) => positions.has(p));
  return positions.size >= option.count && countable(problem, option, positions, taken) >= option.count;
}

/** At most so many of the devices fit into their counter sets. */
function countable(problem: Problem, option: Option, positions: ReadonlySet<number>, taken: Taken): number {
  let sum = 0;
  /** By counter set: how many devices, and for each counter that all of them consume the smallest amount. */
  const groups = new Map<string, { count: number; counters: PoolCounters; least: Map<number, bigint> }>();
  for (const position of positions) {
    const record = problem.devices[position]!;
    const { counters } = problem.view.poolOf[position]!;
    if (counters === undefined || !problem.counts(option, position) || taken.base(position).shared) {
      sum++;
      continue;
    }
    const { sets, counters: consumed, amounts } = counters.consumption(record);
    const key = `${record.driver}/${record.pool}/${sets.map(({ name }) => name).join()}`;
    const own = new Map(consumed.map((counter, i) => [counter, amounts[i]!]));
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { count: 1, counters, least: own });
      continue;
    }
    group.count++;
    for (const [counter, amount] of group.least) {
      const other = own.get(counter);
      if (other === undefined) group.least.delete(counter);
      else if (other < amount) group.least.set(counter, other);
    }
  }
  for (const { count, counters, least } of groups.values()) {
    let fits = BigInt(count);
    const available = taken.counters(counters).available;
    for (const [counter, amount] of least) {
      if (available[counter]! < amount) fits = 0n;
      else if (amount > 0n && available[counter]! / amount < fits) fits = available[counter]! / amount;
    }
    sum += Number(fits);
  }
  return sum;
}

/** Requests that a constraint covers whichever alternative they get, with the options that are left. */
function covered(claim: OptionClaim, constraint: AttributeConstraint, candidates: Candidates): Option[][] {
  return claim.requests
    .map(({ options }) => options.filter((option) => left(option, candidates)))
    .filter((options) => options.every(({ constraints }) => constraints.includes(constraint)));
}

/** Leaves out devices whose value of the attribute cannot be that of a whole solution; false: there is none at all. */
function satisfiable(
  problem: Problem,
  claim: OptionClaim,
  constraint: AttributeConstraint,
  candidates: Candidates,
): boolean {
  const values = (option: Option, position: number): ReadonlySet<string> => {
    const record = problem.devices[position]!;
    return valuesOf(
      problem.attribute(option, record, constraint.attribute),
      problem.features.listTypeAttributes,
    );
  };
  const keep = (wanted: (option: Option, position: number) => boolean): void => {
    for (const { options } of claim.requests) {
      for (const option of options) {
        if (!option.constraints.includes(constraint)) continue;
        const positions = candidates.get(option)!;
        for (const position of positions) if (!wanted(option, position)) positions.delete(position);
      }
    }
  };
  keep((option, position) => values(option, position).size > 0);
  const requests = covered(claim, constraint, candidates);
  if (requests.some((options) => options.length === 0)) return false;
  if (constraint.kind === "distinctAttribute") {
    // Each device needs a value of its own.
    const slots = requests.flatMap((options) => {
      const own = new Set(
        options.flatMap((option) => [...candidates.get(option)!].flatMap((p) => [...values(option, p)])),
      );
      return new Array<ReadonlySet<string>>(fewest(options)).fill(own);
    });
    return allMatched(slots);
  }
  const alive = commonValues(problem, requests, candidates, values);
  if (requests.length === 0) return true;
  if (alive.size === 0 && requests.some((options) => fewest(options) > 0)) return false;
  keep((option, position) => !isDisjoint(values(option, position), alive));
  return true;
}

const fewest = (options: readonly Option[]): number => Math.min(...options.map(({ count }) => count));

/** The values that devices for all these requests can have in common. */
function commonValues(
  problem: Problem,
  requests: readonly (readonly Option[])[],
  candidates: Candidates,
  values: (option: Option, position: number) => ReadonlySet<string>,
): Set<string> {
  // Requests are often alike: options with the same devices share what is found.
  const alike = new Map<string, Map<string, Set<number>>>();
  const byOption = new Map<Option, ReadonlyMap<string, ReadonlySet<number>>>();
  for (const option of requests.flat()) {
    const positions = candidates.get(option)!;
    const { derived } = option.alternative;
    const key = JSON.stringify([...(derived ?? []), ...positions]);
    let byValue = alike.get(key);
    if (byValue === undefined) {
      byValue = new Map();
      alike.set(key, byValue);
      for (const position of positions) {
        for (const value of values(option, position)) {
          const having = byValue.get(value);
          if (having === undefined) byValue.set(value, new Set([position]));
          else having.add(position);
        }
      }
    }
    byOption.set(option, byValue);
  }
  // Those that take devices for themselves, whatever the value.
  const least = slotsOf(problem, requests, (option) => candidates.get(option)!).length;
  const maps = [...alike.values()];
  const alive = new Set<string>();
  for (const value of new Set(maps.flatMap((byValue) => [...byValue.keys()]))) {
    const most = maps.reduce((sum, byValue) => sum + (byValue.get(value)?.size ?? 0), 0);
    if (most < least) continue;
    const having = (option: Option) => byOption.get(option)!.get(value) ?? none;
    if (!requests.every((options) => options.some((option) => having(option).size >= option.count))) continue;
    if (allMatched(slotsOf(problem, requests, having))) alive.add(value);
  }
  return alive;
}

const none: ReadonlySet<number> = new Set();

/** For each device that requests want the devices that it may be; those that can serve several times are left out. */
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
    if ([...own].some((position) => problem.shares(position))) continue;
    for (let i = fewest(options); i > 0; i--) slots.push(own);
  }
  return slots;
}

/** Whether all requests can have different devices. */
function placeable(problem: Problem, candidates: Candidates): boolean {
  const requests = problem.claims.flatMap((claim) =>
    claim.requests.map(({ options }) => options.filter((option) => left(option, candidates))),
  );
  return allMatched(slotsOf(problem, requests, (option) => candidates.get(option)!));
}
