import { maxErrorText } from "../errors/invalid.ts";

/** A run of `size` equal lines that begins at line `a` of one text and at line `b` of the other. */
interface Match {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

/** Number of lines from which on lines that occur often are not compared. */
const manyLines = 200;
/**
 * Lines that are compared before all that is left counts as different. Upstream goes on, and takes a minute
 * for texts of a few hundred kilobytes; texts that people write take some thousands.
 */
const maxCompared = 300_000;

/** Positions of each line of `b`; in long texts, frequent lines are left out. */
function placesOf(b: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  b.forEach((line, index) => {
    const found = places.get(line);
    if (found === undefined) places.set(line, [index]);
    else found.push(index);
  });
  if (b.length >= manyLines) {
    const often = Math.floor(b.length / 100) + 1;
    for (const [line, found] of places) if (found.length > often) places.delete(line);
  }
  return places;
}

const none: readonly number[] = [];

class Matcher {
  readonly #a: readonly string[];
  readonly #b: readonly string[];
  /** Positions in `b` of each line of `a`. */
  readonly #places: readonly (readonly number[])[];
  /** The lines of `a` that stand in `b`. */
  readonly #shared: readonly number[];
  /** Length of the match that ends at a line of `b` and at the line of `a` before the current one. */
  #lengths: Int32Array;
  #next: Int32Array;
  #compared = 0;

  constructor(a: readonly string[], b: readonly string[]) {
    this.#a = a;
    this.#b = b;
    const places = placesOf(b);
    this.#places = a.map((line) => places.get(line) ?? none);
    this.#shared = [...a.keys()].filter((index) => this.#places[index] !== none);
    this.#lengths = new Int32Array(b.length + 1);
    this.#next = new Int32Array(b.length + 1);
  }

  /** All matches in order, the longest first found, then what lies before and behind it. */
  matches(): Match[] {
    const found: Match[] = [];
    const look = (aLow: number, aHigh: number, bLow: number, bHigh: number): void => {
      let [aFrom, bFrom] = [aLow, bLow];
      while (aFrom < aHigh && bFrom < bHigh && this.#compared < maxCompared) {
        const longest = this.#longest(aFrom, aHigh, bFrom, bHigh);
        if (longest.size === 0) return;
        if (aFrom < longest.a && bFrom < longest.b) look(aFrom, longest.a, bFrom, longest.b);
        found.push(longest);
        aFrom = longest.a + longest.size;
        bFrom = longest.b + longest.size;
      }
    };
    look(0, this.#a.length, 0, this.#b.length);
    return found;
  }

  #longest(aLow: number, aHigh: number, bLow: number, bHigh: number): Match {
    let best: Match = { a: aLow, b: bLow, size: 0 };
    let before: readonly number[] = none;
    const shared = this.#shared;
    for (let place = firstFrom(shared, aLow); place < shared.length && shared[place]! < aHigh; place++) {
      const i = shared[place]!;
      if (shared[place - 1] !== i - 1) before = this.#forget(before);
      const places = this.#places[i]!;
      this.#compared += 1 + places.length;
      for (const j of places) {
        if (j < bLow) continue;
        if (j >= bHigh) break;
        const size = j > bLow ? this.#lengths[j]! + 1 : 1;
        this.#next[j + 1] = size;
        if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
      }
      this.#forget(before);
      [this.#lengths, this.#next] = [this.#next, this.#lengths];
      before = places;
    }
    this.#forget(before);
    let { a, b, size } = best;
    while (a > aLow && b > bLow && this.#a[a - 1] === this.#b[b - 1]) {
      a--;
      b--;
      size++;
    }
    while (a + size < aHigh && b + size < bHigh && this.#a[a + size] === this.#b[b + size]) size++;
    return { a, b, size };
  }

  /** Takes the lengths of a line of `a` back. */
  #forget(places: readonly number[]): readonly number[] {
    for (const j of places) this.#lengths[j + 1] = 0;
    return none;
  }
}

/** Index of the first number that is at least `least`, in ascending numbers. */
function firstFrom(numbers: readonly number[], least: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A run of lines that are equal in both texts, or not. */
interface Run {
  readonly equal: boolean;
  readonly a: readonly [from: number, to: number];
  readonly b: readonly [from: number, to: number];
}

function runsOf(matches: readonly Match[], aLength: number, bLength: number): Run[] {
  const runs: Run[] = [];
  let [a, b] = [0, 0];
  for (const match of [...matches, { a: aLength, b: bLength, size: 0 }]) {
    if (a < match.a || b < match.b) runs.push({ equal: false, a: [a, match.a], b: [b, match.b] });
    [a, b] = [match.a + match.size, match.b + match.size];
    if (match.size > 0) runs.push({ equal: true, a: [match.a, a], b: [match.b, b] });
  }
  return runs;
}

/**
 * Runs that belong together: `context` equal lines at either end, and no more than twice as many between
 * changes.
 */
function groupsOf(runs: readonly Run[], context: number): Run[][] {
  const groups: Run[][] = [];
  let group: Run[] = [];
  runs.forEach((run, index) => {
    const length = run.a[1] - run.a[0];
    if (!run.equal) {
      group.push(run);
      return;
    }
    const head = (count: number): Run => ({
      equal: true,
      a: [run.a[0], run.a[0] + count],
      b: [run.b[0], run.b[0] + count],
    });
    const tail = (count: number): Run => ({
      equal: true,
      a: [run.a[1] - count, run.a[1]],
      b: [run.b[1] - count, run.b[1]],
    });
    const most = Math.min(context, length);
    if (index === 0) group.push(tail(most));
    else if (index === runs.length - 1) group.push(head(most));
    else if (length > 2 * context) {
      groups.push([...group, head(context)]);
      group = [tail(context)];
    } else group.push(run);
  });
  if (group.some(({ equal }) => !equal)) groups.push(group);
  return groups;
}

function range([from, to]: readonly [number, number]): string {
  const length = to - from;
  if (length === 1) return String(from + 1);
  return `${length === 0 ? from : from + 1},${length}`;
}

/** Maximum number of characters of a text that are compared: no response shows more. */
const maxText = 4 * maxErrorText;

/**
 * Difference of two texts, line by line, in the form of `diff -u` but without the names of files. A
 * difference that is longer than `maxErrorText` is cut off, and ends with a line of dots.
 */
export function unifiedDiff(from: string, to: string): string {
  const [a, b] = [from, to].map((text) => text.slice(0, maxText).split("\n")) as [string[], string[]];
  const runs = runsOf(new Matcher(a, b).matches(), a.length, b.length);
  let text = "";
  for (const line of linesOf(groupsOf(runs, 3), a, b)) {
    if (text.length > maxErrorText) return `${text}...\n`;
    text += `${line}\n`;
  }
  return text;
}

function* linesOf(
  groups: readonly (readonly Run[])[],
  a: readonly string[],
  b: readonly string[],
): Generator<string> {
  for (const group of groups) {
    // A group has at least one run.
    const [first, last] = [group[0]!, group.at(-1)!];
    yield `@@ -${range([first.a[0], last.a[1]])} +${range([first.b[0], last.b[1]])} @@`;
    for (const run of group) {
      for (const line of a.slice(...run.a)) yield `${run.equal ? " " : "-"}${line}`;
      if (!run.equal) for (const line of b.slice(...run.b)) yield `+${line}`;
    }
  }
}
