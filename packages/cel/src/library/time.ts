import { durationType, intType, stringType, timestampType } from "../values/types.ts";
import { CelError, type Duration, type Timestamp } from "../values/value.ts";
import {
  type Contextual,
  declare,
  type FunctionDeclaration,
  type Implementation,
  inContext,
  method,
} from "./declarations.ts";

const millisecond = 1_000_000n;

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  return Math.round((date.getTime() - start.getTime()) / 86_400_000);
}

type Field = (date: Date) => number;

const field = (get: Field): Contextual =>
  inContext(({ timeZones }) => (time, zone) => {
    const date = timeZones.localTime(time as Timestamp, zone === null ? "" : (zone as string));
    return typeof date === "string" ? new CelError(date) : BigInt(get(date));
  });

const total =
  (unit: bigint): Implementation =>
  (duration) =>
    (duration as Duration).nanoseconds / unit;

function getter(name: string, part: string, get: Field, unit?: bigint): FunctionDeclaration {
  const implementation = field(get);
  const id = `timestamp_to_${part}`;
  return declare(name, [
    method(id, [timestampType], intType, implementation),
    method(`${id}_with_tz`, [timestampType, stringType], intType, implementation),
    ...(unit === undefined ? [] : [method(`duration_to_${part}`, [durationType], intType, total(unit))]),
  ]);
}

/**
 * Fields of timestamps, and the total of a duration in a unit. Months and days of the year start at 0,
 * `getDate()` at 1.
 */
export const timeLibrary: readonly FunctionDeclaration[] = [
  getter("getFullYear", "year", (date) => date.getUTCFullYear()),
  getter("getMonth", "month", (date) => date.getUTCMonth()),
  getter("getDate", "day_of_month_1_based", (date) => date.getUTCDate()),
  getter("getDayOfMonth", "day_of_month", (date) => date.getUTCDate() - 1),
  getter("getDayOfWeek", "day_of_week", (date) => date.getUTCDay()),
  getter("getDayOfYear", "day_of_year", dayOfYear),
  getter("getHours", "hours", (date) => date.getUTCHours(), 3600n * 1000n * millisecond),
  getter("getMinutes", "minutes", (date) => date.getUTCMinutes(), 60n * 1000n * millisecond),
  getter("getSeconds", "seconds", (date) => date.getUTCSeconds(), 1000n * millisecond),
  getter("getMilliseconds", "milliseconds", (date) => date.getUTCMilliseconds(), millisecond),
];
