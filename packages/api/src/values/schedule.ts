import { quoted } from "../text/quoted.ts";
import { DurationError, parseDuration } from "./duration.ts";

/** Range of a field of a schedule, with names for some of its values. */
interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly names?: Readonly<Record<string, number>>;
}

const numbered = (names: string, first: number): Record<string, number> =>
  Object.fromEntries(names.split(" ").map((name, index) => [name, index + first]));

const fields: readonly Bounds[] = [
  { low: 0, high: 59 },
  { low: 0, high: 23 },
  { low: 1, high: 31 },
  { low: 1, high: 12, names: numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1) },
  { low: 0, high: 6, names: numbered("sun mon tue wed thu fri sat", 0) },
];

const descriptors = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

/** Not a schedule. The message is the API server's. */
export class ScheduleError extends Error {
  override readonly name = "ScheduleError";
}

/** The values that a field of a schedule may have. */
export interface ScheduleField {
  readonly values: ReadonlySet<number>;
  /** Written as `*`: it leaves the choice to the others. */
  readonly any: boolean;
}

/** A parsed schedule: minutes whose fields all match, or a fixed interval in milliseconds. */
export type Schedule = { readonly zone?: string } & (
  | { readonly every: number }
  | {
      readonly minute: ScheduleField;
      readonly hour: ScheduleField;
      readonly day: ScheduleField;
      readonly month: ScheduleField;
      readonly weekday: ScheduleField;
    }
);

function numberOf(text: string): number {
  if (!/^[+-]?[0-9]+$/.test(text)) {
    throw new ScheduleError(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${quoted(text)}: invalid syntax`,
    );
  }
  const number = Number(text);
  if (number < 0) throw new ScheduleError(`negative number (${number}) not allowed: ${text}`);
  return number;
}

function readValue(text: string, bounds: Bounds): number {
  return bounds.names?.[text.toLowerCase()] ?? numberOf(text);
}

/** Adds the values of a range; true if it is every value there is. */
function readRange(expression: string, bounds: Bounds, values: Set<number>): boolean {
  const [range = "", step, ...moreSteps] = expression.split("/");
  const [low = "", high, ...moreHyphens] = range.split("-");
  const any = low === "*" || low === "?";
  let start = bounds.low;
  let end = bounds.high;
  if (!any) {
    start = readValue(low, bounds);
    if (moreHyphens.length > 0) throw new ScheduleError(`too many hyphens: ${expression}`);
    end = high === undefined ? start : readValue(high, bounds);
  }
  if (moreSteps.length > 0) throw new ScheduleError(`too many slashes: ${expression}`);
  let size = 1;
  if (step !== undefined) {
    size = numberOf(step);
    if (high === undefined && !any) end = bounds.high;
  }
  if (start < bounds.low)
    throw new ScheduleError(`beginning of range (${start}) below minimum (${bounds.low}): ${expression}`);
  if (end > bounds.high)
    throw new ScheduleError(`end of range (${end}) above maximum (${bounds.high}): ${expression}`);
  if (start > end) {
    throw new ScheduleError(`beginning of range (${start}) beyond end of range (${end}): ${expression}`);
  }
  if (size === 0) throw new ScheduleError(`step of range should be a positive number: ${expression}`);
  for (let value = start; value <= end; value += size) values.add(value);
  return any && size === 1;
}

function readField(part: string, bounds: Bounds): ScheduleField {
  const values = new Set<number>();
  let any = false;
  for (const range of part.split(",").filter((each) => each !== ""))
    if (readRange(range, bounds, values)) any = true;
  return { values, any };
}

/** Reads the schedule of a CronJob as its parser does (github.com/robfig/cron). Throws ScheduleError. */
export function parseSchedule(schedule: string): Schedule {
  if (schedule === "") throw new ScheduleError("empty spec string");
  let text = schedule;
  const prefix = /^(?:CRON_)?TZ=(\S*) ?/.exec(schedule);
  if (prefix !== null) text = text.slice(prefix[0].length).trim();
  const zone = prefix?.[1] ? { zone: prefix[1] } : {};
  const every = /^@every (.*)$/.exec(text)?.[1];
  if (every !== undefined) return { ...zone, every: readDelay(every, text) };
  if (text.startsWith("@")) {
    const meaning = descriptors.get(text);
    if (meaning === undefined) throw new ScheduleError(`unrecognized descriptor: ${text}`);
    text = meaning;
  }
  const parts = text.split(/\s+/).filter((part) => part !== "");
  if (parts.length !== fields.length) {
    throw new ScheduleError(
      `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(" ")}]`,
    );
  }
  const field = (index: number): ScheduleField => readField(parts[index]!, fields[index]!);
  return { ...zone, minute: field(0), hour: field(1), day: field(2), month: field(3), weekday: field(4) };
}

/** Milliseconds, whole seconds and at least one. */
function readDelay(duration: string, text: string): number {
  try {
    return Math.max(1, Number(parseDuration(duration) / 1_000_000_000n)) * 1000;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw new ScheduleError(`failed to parse duration ${text}: ${error.message}`);
  }
}

/** Why the schedule of a CronJob is invalid, in the words of its parser; undefined if it is valid. */
export function scheduleProblem(schedule: string): string | undefined {
  try {
    parseSchedule(schedule);
    return undefined;
  } catch (error) {
    if (error instanceof ScheduleError) return error.message;
    throw error;
  }
}
