import { DurationError, parseDuration } from "../../duration.ts";
import { quoted } from "../../quoted.ts";

/** What a field of a schedule counts, with names for some of its values. */
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

const descriptors = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

class ScheduleError extends Error {}

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

function checkRange(expression: string, bounds: Bounds): void {
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
}

function check(schedule: string): void {
  if (schedule === "") throw new ScheduleError("empty spec string");
  let text = schedule;
  if (/^(CRON_)?TZ=/.test(text)) text = text.replace(/^\S* ?/, "").trim();
  if (text.startsWith("@")) {
    const every = /^@every (.*)$/.exec(text)?.[1];
    if (every !== undefined) {
      try {
        parseDuration(every);
        return;
      } catch (error) {
        if (!(error instanceof DurationError)) throw error;
        throw new ScheduleError(`failed to parse duration ${text}: ${error.message}`);
      }
    }
    if (!descriptors.includes(text)) throw new ScheduleError(`unrecognized descriptor: ${text}`);
    return;
  }
  const parts = text.split(/\s+/).filter((part) => part !== "");
  if (parts.length !== fields.length) {
    throw new ScheduleError(
      `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(" ")}]`,
    );
  }
  parts.forEach((part, index) => {
    for (const range of part.split(",").filter((each) => each !== "")) checkRange(range, fields[index]!);
  });
}

/** What is wrong with the schedule of a CronJob, in the words of its parser; undefined if nothing is. */
export function scheduleProblem(schedule: string): string | undefined {
  try {
    check(schedule);
    return undefined;
  } catch (error) {
    if (error instanceof ScheduleError) return error.message;
    throw error;
  }
}
