/** A device that may be allocated, and what it consumes of counters that it shares with others. */
export interface PackItem {
  /** Number of claims that it can serve. */
  readonly profit: number;
  /** Consumption by the name of the counter. */
  readonly amounts: ReadonlyMap<string, bigint>;
  /** Compatibility groups by the name of the counter set (KEP-5963); absent: the feature is off. */
  readonly groups?: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The rest of the counters. */
export interface PackSpace {
  readonly counters: ReadonlyMap<string, bigint>;
  /** Groups that allocated devices leave on a counter set; absent: no device is allocated. */
  readonly groups?: ReadonlyMap<string, OpenGroups>;
}

/** `none`: devices without groups only. */
export type OpenGroups = "none" | ReadonlySet<string>;

export interface Packed {
  readonly profit: number;
  /** False: the search was cut short, and there may be a better choice. */
  readonly isExact: boolean;
  /** Indexes of the chosen items. */
  readonly chosen: readonly number[];
}

/** Maximum number of steps of the search for one component. */
export const maxPackSteps = 20_000;

/**
 * Finds the items with the largest total profit that can be allocated together (KEP-4815: the sums of their
 * amounts stay within the counters). Items without a common scarce counter do not influence each other: each
 * such component is searched alone, and equal components once.
 */
export class Packing {
  readonly #known = new Map<string, Packed>();
  readonly #maxSteps: number;

  constructor(maxSteps = maxPackSteps) {
    this.#maxSteps = maxSteps;
  }

  best(items: readonly PackItem[], space: PackSpace): Packed {
    const scarce = scarceItems(items, space);
    const chosen: number[] = [];
    let [profit, isExact] = [0, true];
    for (const component of componentsOf(scarce)) {
      const found = this.#bestOf(component, space);
      profit += found.profit;
      isExact &&= found.isExact;
      for (const index of found.chosen) chosen.push(component[index]!.index);
    }
    return { profit, isExact, chosen: chosen.sort((a, b) => a - b) };
  }

  #bestOf(component: readonly ScarceItem[], space: PackSpace): Packed {
    const [first] = component;
    if (component.length === 1 && first !== undefined)
      return { profit: first.profit, isExact: true, chosen: [0] };
    const problem = componentProblem(component, space);
    const key = keyOf(problem);
    const known = this.#known.get(key) ?? new Search(problem, this.#maxSteps).run();
    this.#known.set(key, known);
    return known;
  }
}

interface ScarceItem extends PackItem {
  readonly index: number;
}

/** Returns the items that fit alone, with their amounts of counters that do not suffice for all of them. */
function scarceItems(items: readonly PackItem[], { counters, groups }: PackSpace): ScarceItem[] {
  const fitting = items.flatMap((item, index): ScarceItem[] => {
    const fits = [...item.amounts].every(([name, amount]) => amount <= (counters.get(name) ?? 0n));
    const joins = [...(item.groups ?? [])].every(([set, own]) => join(groups?.get(set), own) !== undefined);
    return item.profit > 0 && fits && joins ? [{ ...item, index }] : [];
  });
  const sums = new Map<string, bigint>();
  for (const { amounts } of fitting)
    for (const [name, amount] of amounts) sums.set(name, (sums.get(name) ?? 0n) + amount);
  const isScarce = (name: string): boolean => (sums.get(name) ?? 0n) > (counters.get(name) ?? 0n);
  return fitting.map((item) => ({
    ...item,
    amounts: new Map([...item.amounts].filter(([name, amount]) => amount > 0n && isScarce(name))),
  }));
}

/** Groups items that have a counter, or a counter set with groups, in common. */
function componentsOf(items: readonly ScarceItem[]): ScarceItem[][] {
  const owner = new Map<string, string>();
  const root = (key: string): string => {
    let found = key;
    for (let next = owner.get(found); next !== undefined; next = owner.get(found)) found = next;
    return found;
  };
  const setsOf = (item: ScarceItem): string[] => {
    const sets = [...(item.groups?.keys() ?? [])].map((set) => `set ${set}`);
    return [...[...item.amounts.keys()].map((name) => `counter ${name}`), ...sets];
  };
  for (const item of items)
    for (const key of setsOf(item)) {
      const [a, b] = [root(`item ${item.index}`), root(key)];
      if (a !== b) owner.set(a, b);
    }
  return [...Map.groupBy(items, ({ index }) => root(`item ${index}`)).values()];
}

/** One component, with numbers in the place of names. */
interface Problem {
  readonly profits: readonly number[];
  /** For each item the amount of each counter. */
  readonly amounts: readonly (readonly bigint[])[];
  readonly counters: readonly bigint[];
  /** For each item its groups on each counter set; undefined: it does not consume of the set. */
  readonly groups: readonly (readonly (ReadonlySet<string> | undefined)[])[];
  readonly open: readonly (OpenGroups | undefined)[];
}

function componentProblem(items: readonly ScarceItem[], space: PackSpace): Problem {
  const names = [...new Set(items.flatMap(({ amounts }) => [...amounts.keys()]))];
  const sets = [...new Set(items.flatMap(({ groups }) => [...(groups?.keys() ?? [])]))];
  return {
    profits: items.map(({ profit }) => profit),
    amounts: items.map(({ amounts }) => names.map((name) => amounts.get(name) ?? 0n)),
    counters: names.map((name) => space.counters.get(name) ?? 0n),
    groups: items.map(({ groups }) => sets.map((set) => groups?.get(set))),
    open: sets.map((set) => space.groups?.get(set)),
  };
}

const groupsText = (open: OpenGroups | undefined): string =>
  open === undefined ? "any" : open === "none" ? open : `[${[...open].sort().join()}]`;

const keyOf = ({ profits, amounts, counters, groups, open }: Problem): string =>
  [
    profits.join(),
    amounts.map((each) => each.join()).join(";"),
    counters.join(),
    groups.map((each) => each.map(groupsText).join()).join(";"),
    open.map(groupsText).join(),
  ].join("|");

/**
 * Returns the groups that stay open on a counter set when a device joins; undefined: it may not join
 * (KEP-5963: all devices share a group, or none of them has any).
 */
function join(open: OpenGroups | undefined, groups: ReadonlySet<string>): OpenGroups | undefined {
  if (open === undefined) return groups.size === 0 ? "none" : groups;
  if (open === "none") return groups.size === 0 ? open : undefined;
  const both = new Set([...open].filter((group) => groups.has(group)));
  return both.size === 0 ? undefined : both;
}

/**
 * Depth-first search with bounds. An item that needs no less of anything and brings no more than one that
 * was left out is left out as well: the two could be exchanged.
 */
class Search {
  readonly #problem: Problem;
  readonly #order: readonly number[];
  readonly #bounds: readonly Bound[];
  readonly #dominated: readonly (readonly number[])[];
  readonly #left: bigint[];
  readonly #open: (OpenGroups | undefined)[];
  /** For each item how many of those that were left out rule it out. */
  readonly #ruledOut: number[];
  readonly #current: number[] = [];
  #profit = 0;
  #best: readonly number[] = [];
  #bestProfit = 0;
  #steps: number;

  constructor(problem: Problem, maxSteps: number) {
    this.#problem = problem;
    this.#steps = maxSteps;
    const all = problem.profits.map((_, i) => i);
    const size = (i: number): number =>
      problem.amounts[i]!.reduce((sum, amount, d) => sum + ratio(amount, problem.counters[d]!), 0);
    // The items that bring most for what they need are first: the first solution is a good one.
    this.#order = all.toSorted(
      (a, b) => size(a) / problem.profits[a]! - size(b) / problem.profits[b]! || a - b,
    );
    const position = all.map((item) => this.#order.indexOf(item));
    this.#dominated = all.map((a) =>
      all.filter((b) => position[b]! > position[a]! && isAtLeastAsGood(problem, a, b)),
    );
    this.#bounds = boundsOf(problem, this.#order);
    this.#left = [...problem.counters];
    this.#open = [...problem.open];
    this.#ruledOut = all.map(() => 0);
  }

  run(): Packed {
    this.#visit(0);
    return {
      profit: this.#bestProfit,
      isExact: this.#steps > 0,
      chosen: [...this.#best].sort((a, b) => a - b),
    };
  }

  #visit(at: number): void {
    if (this.#profit > this.#bestProfit) [this.#bestProfit, this.#best] = [this.#profit, [...this.#current]];
    if (at === this.#order.length || this.#steps <= 0) return;
    if (--this.#steps <= 0 || this.#profit + this.#boundFrom(at) <= this.#bestProfit) return;
    const item = this.#order[at]!;
    if (this.#ruledOut[item] === 0) this.#take(item, at);
    for (const other of this.#dominated[item]!) this.#ruledOut[other]!++;
    this.#visit(at + 1);
    for (const other of this.#dominated[item]!) this.#ruledOut[other]!--;
  }

  #take(item: number, at: number): void {
    const amounts = this.#problem.amounts[item]!;
    if (amounts.some((amount, d) => amount > this.#left[d]!)) return;
    const before = [...this.#open];
    for (const [set, groups] of this.#problem.groups[item]!.entries()) {
      if (groups === undefined) continue;
      const joined = join(this.#open[set], groups);
      if (joined === undefined) return void this.#open.splice(0, before.length, ...before);
      this.#open[set] = joined;
    }
    amounts.forEach((amount, d) => {
      this.#left[d]! -= amount;
    });
    this.#current.push(item);
    this.#profit += this.#problem.profits[item]!;
    this.#visit(at + 1);
    this.#profit -= this.#problem.profits[item]!;
    this.#current.pop();
    amounts.forEach((amount, d) => {
      this.#left[d]! += amount;
    });
    this.#open.splice(0, before.length, ...before);
  }

  /** Returns the most that the items from `at` on can bring: parts of items count as well. */
  #boundFrom(at: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { weights, order, position } of this.#bounds) {
      let room = weights.reduce((sum, weight, d) => sum + weight * Number(this.#left[d]!), 0);
      let profit = 0;
      for (const { item, size } of order) {
        if (position[item]! < at || this.#ruledOut[item]! > 0) continue;
        const own = this.#problem.profits[item]!;
        if (size > room) {
          profit += (own * room) / size;
          break;
        }
        room -= size;
        profit += own;
      }
      least = Math.min(least, profit);
    }
    // Profits are whole numbers; the rest are errors of rounding.
    return Math.floor(least + 1e-6);
  }
}

/** A sum of weighted counters as one, of which items are chosen by profit. */
interface Bound {
  readonly weights: readonly number[];
  readonly order: readonly { readonly item: number; readonly size: number }[];
  /** For each item its place in the order of the search. */
  readonly position: readonly number[];
}

/** Returns a bound for each counter, and one for all of them. */
function boundsOf({ profits, amounts, counters }: Problem, order: readonly number[]): Bound[] {
  const position = profits.map((_, item) => order.indexOf(item));
  const scales = counters.map((counter) => (counter > 0n ? 1 / Number(counter) : 1));
  const single = counters.map((_, i) => scales.map((scale, d) => (d === i ? scale : 0)));
  return [...single, scales].map((weights) => {
    const sized = profits.map((profit, item) => ({
      item,
      profit,
      size: weights.reduce((sum, weight, d) => sum + weight * Number(amounts[item]![d]!), 0),
    }));
    return { weights, position, order: sized.toSorted((a, b) => a.size * b.profit - b.size * a.profit) };
  });
}

const ratio = (amount: bigint, of: bigint): number => (of > 0n ? Number(amount) / Number(of) : 0);

/** Reports whether `a` can stand in the place of `b`. */
function isAtLeastAsGood({ profits, amounts, groups }: Problem, a: number, b: number): boolean {
  return (
    profits[a]! >= profits[b]! &&
    amounts[a]!.every((amount, d) => amount <= amounts[b]![d]!) &&
    groups[a]!.map(groupsText).join(";") === groups[b]!.map(groupsText).join(";")
  );
}
