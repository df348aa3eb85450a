import { quoted } from "../../../text/quoted.ts";

/** Numbers of pods of an indexed job, written `1,3-5,7`. */
export interface Indexes {
  readonly intervals: readonly (readonly [from: number, to: number])[];
  readonly count: number;
}

function numberOf(text: string, completions: number): number {
  if (!/^[+-]?[0-9]+$/.test(text))
    throw new RangeError(`cannot convert string to integer for index: ${quoted(text)}`);
  const index = Number(text);
  if (index >= completions) throw new RangeError(`too large index: ${quoted(text)}`);
  return index;
}

/** Reads indexes below `completions`. Throws a RangeError with the server's words. */
export function parseIndexes(text: string, completions: number): Indexes {
  const intervals: [number, number][] = [];
  let count = 0;
  for (const part of text === "" ? [] : text.split(",")) {
    const limits = part.split("-");
    if (limits.length > 2) {
      throw new RangeError(
        `the fragment ${quoted(part)} violates the requirement that an index interval can have at most two parts separated by '-'`,
      );
    }
    const from = numberOf(limits[0] ?? "", completions);
    const to = limits.length === 2 ? numberOf(limits[1] ?? "", completions) : from;
    if (limits.length === 2 && from >= to)
      throw new RangeError(`non-increasing order, previous: ${from}, current: ${to}`);
    const last = intervals.at(-1)?.[1];
    if (last !== undefined && last >= from)
      throw new RangeError(`non-increasing order, previous: ${last}, current: ${from}`);
    intervals.push([from, to]);
    count += to - from + 1;
  }
  return { intervals, count };
}

/** The error of a text of indexes; undefined if it is valid. */
export function indexProblem(text: string, completions: number): string | undefined {
  try {
    parseIndexes(text, completions);
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

/** The first index in both; undefined if they have no index in common. */
export function commonIndex(left: Indexes, right: Indexes): number | undefined {
  let next = 0;
  for (const [from, to] of left.intervals) {
    while (next < right.intervals.length && right.intervals[next]![1] < from) next++;
    const other = right.intervals[next];
    if (other !== undefined && other[0] <= to) return Math.max(from, other[0]);
  }
  return undefined;
}
