/** Lines of the one text that are lines of the other: from `a` and `b` on, so many. */
interface Match {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

/** In texts of so many lines, those that occur often are not looked for. */
const manyLines = 200;

/** Where each line of `b` stands; frequent ones are left out of long texts. */
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

class Matcher {
  readonly #a: readonly string[];
  readonly #b: readonly string[];
  readonly #places: ReadonlyMap<string, readonly number[]>;

  constructor(a: readonly string[], b: readonly string[]) {
    this.#a = a;
    this.#b = b;
    this.#places = placesOf(b);
  }

  /** All matches in order, the longest first found, then what lies before and behind it. */
  matches(): Match[] {
    const found: Match[] = [];
    const look = (aLow: number, aHigh: number, bLow: number, bHigh: number): void => {
      const longest = this.#longest(aLow, aHigh, bLow, bHigh);
      if (longest.size === 0) return;
      if (aLow < longest.a && bLow < longest.b) look(aLow, longest.a, bLow, longest.b);
      found.push(longest);
      const [aEnd, bEnd] = [longest.a + longest.size, longest.b + longest.size];
      if (aEnd < aHigh && bEnd < bHigh) look(aEnd, aHigh, bEnd, bHigh);
    };
    look(0, this.#a.length, 0, this.#b.length);
    return found;
  }

  #longest(aLow: number, aHigh: number, bLow: number, bHigh: number): Match {
    let best: Match = { a: aLow, b: bLow, size: 0 };
    let lengths = new Map<number, number>();
    for (let i = aLow; i < aHigh; i++) {
      const next = new Map<number, number>();
      for (const j of this.#places.get(this.#a[i] ?? "") ?? []) {
        if (j < bLow) continue;
        if (j >= bHigh) break;
        const size = (lengths.get(j - 1) ?? 0) + 1;
        next.set(j, size);
        if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
      }
      lengths = next;
    }
    let { a, b, size } = best;
    while (a > aLow && b > bLow && this.#a[a - 1] === this.#b[b - 1]) {
      a--;
      b--;
      size++;
    }
    while (a + size < aHigh && b + size < bHigh && this.#a[a + size] === this.#b[b + size]) size++;
    return { a, b, size };
  }
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

/** Runs that belong together: `context` equal lines at either end, and no more than twice as many between changes. */
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

/** How one text becomes another, line by line, as `diff -u` shows it but without the names of files. */
export function unifiedDiff(from: string, to: string): string {
  const [a, b] = [from.split("\n"), to.split("\n")];
  const runs = runsOf(new Matcher(a, b).matches(), a.length, b.length);
  let text = "";
  for (const group of groupsOf(runs, 3)) {
    const [first, last] = [group[0]!, group.at(-1)!];
    text += `@@ -${range([first.a[0], last.a[1]])} +${range([first.b[0], last.b[1]])} @@\n`;
    for (const run of group) {
      if (run.equal) for (const line of a.slice(...run.a)) text += ` ${line}\n`;
      else {
        for (const line of a.slice(...run.a)) text += `-${line}\n`;
        for (const line of b.slice(...run.b)) text += `+${line}\n`;
      }
    }
  }
  return text;
}
