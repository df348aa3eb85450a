import { declare, type FunctionDeclaration, type Implementation, method } from "../declarations.ts";
import { durationType, intType, stringType, timestampType } from "../types.ts";
import { CelError, type Duration, type Timestamp, type Value } from "../values.ts";

const millisecond = 1_000_000n;
const minutesInDay = 24 * 60;

/** The time of a zone as if it were UTC; undefined if there is no such zone. */
function inZone(time: Timestamp, zone: string): Date | undefined {
  const below = ((time.nanoseconds % millisecond) + millisecond) % millisecond;
  const date = new Date(Number((time.nanoseconds - below) / millisecond));
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    if (minutes > minutesInDay) return undefined;
    return new Date(date.getTime() + (offset[1] === "-" ? -minutes : minutes) * 60_000);
  }
  if (zone === "" || zone === "UTC") return date;
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone, hourCycle: "h23", era: "short", year: "numeric", month: "numeric", day: "numeric",
      hour: "numeric", minute: "numeric", second: "numeric",
    }); // biome-ignore format: a table reads better in lines
    const parts = new Map(format.formatToParts(date).map(({ type, value }) => [type, value]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
    const local = new Date(0);
    local.setUTCFullYear(part("year"), part("month") - 1, part("day"));
    local.setUTCHours(part("hour"), part("minute"), part("second"), date.getUTCMilliseconds());
    return local;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  return Math.round((date.getTime() - start.getTime()) / 86_400_000);
}

type Field = (date: Date) => number;

const field =
  (get: Field): Implementation =>
  (time, zone) => {
    const date = inZone(time as Timestamp, zone === null ? "" : (zone as string));
    return date === undefined ? new CelError(`unknown time zone ${zone as string}`) : BigInt(get(date));
  };

const total =
  (unit: bigint): Implementation =>
  (duration) =>
    (duration as Duration).nanoseconds / unit;

function getter(name: string, get: Field, unit?: bigint): FunctionDeclaration {
  const implementation: Implementation = field(get);
  const id = `timestamp_to_${name}`;
  return declare(name, [
    method(id, [timestampType], intType, (a): Value => implementation(a, null, null, null)),
    method(`${id}_with_tz`, [timestampType, stringType], intType, implementation),
    ...(unit === undefined ? [] : [method(`duration_to_${name}`, [durationType], intType, total(unit))]),
  ]);
}

/** The parts of times; of durations, which are totals. Months and days of the year count from 0, dates from 1. */
export const timesLibrary: readonly FunctionDeclaration[] = [
  getter("getFullYear", (date) => date.getUTCFullYear()),
  getter("getMonth", (date) => date.getUTCMonth()),
  getter("getDate", (date) => date.getUTCDate()),
  getter("getDayOfMonth", (date) => date.getUTCDate() - 1),
  getter("getDayOfWeek", (date) => date.getUTCDay()),
  getter("getDayOfYear", dayOfYear),
  getter("getHours", (date) => date.getUTCHours(), 3600n * 1000n * millisecond),
  getter("getMinutes", (date) => date.getUTCMinutes(), 60n * 1000n * millisecond),
  getter("getSeconds", (date) => date.getUTCSeconds(), 1000n * millisecond),
  getter("getMilliseconds", (date) => date.getUTCMilliseconds(), millisecond),
];
