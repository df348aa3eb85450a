import { quoted } from "@dray/api";
import { inInt } from "../values/integers.ts";
import { floorDivide } from "../values/time.ts";
import { durationType, intType, stringType, timestampType } from "../values/types.ts";
import { CelError, type Duration, type Timestamp, type Value } from "../values/value.ts";
import { declare, type FunctionDeclaration, type Implementation, method } from "./declarations.ts";

const millisecond = 1_000_000n;
const minute = 60_000n * millisecond;

/** The time of a zone as if it were UTC; a text says why there is none. */
function inZone({ nanoseconds }: Timestamp, zone: string): Date | string {
  const date = new Date(Number(floorDivide(nanoseconds, millisecond)));
  const colon = zone.indexOf(":");
  if (colon < 0) return inNamedZone(date, zone);
  const hours = parseInteger(zone.slice(0, colon));
  if (typeof hours === "string") return hours;
  const minutes = parseInteger(zone.slice(colon + 1));
  if (typeof minutes === "string") return minutes;
  // Go computes in 64 bits, and so may come out elsewhere.
  const offset = BigInt.asIntN(64, hours * 60n + (zone.startsWith("-") ? -minutes : minutes));
  const shift = BigInt.asIntN(64, offset * minute) / (1000n * millisecond);
  return new Date(date.getTime() + Number(shift) * 1000);
}

/** An integer of 64 bits, or why it is none, as Go's strconv.Atoi words it. */
function parseInteger(text: string): bigint | string {
  const fail = (why: string): string => `strconv.Atoi: parsing ${quoted(text)}: ${why}`;
  if (!/^[+-]?[0-9]+$/.test(text)) return fail("invalid syntax");
  const value = BigInt(text.replace(/^\+/, ""));
  return inInt(value) ? value : fail("value out of range");
}

/** Names as the IANA has them; Go knows them by their letter case, which the platform forgives. */
function inNamedZone(date: Date, zone: string): Date | string {
  if (zone === "" || zone === "UTC" || zone === "Local") return date;
  if (zone.includes("..") || /^[/\\]/.test(zone)) return "time: invalid location name";
  const format = zoneFormat(zone);
  if (format === undefined) return `unknown time zone ${zone}`;
  const parts = new Map(format.formatToParts(date).map(({ type, value }) => [type, value]));
  const part = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
  // The year before the year 1 is 1 BC.
  const year = parts.get("era") === "BC" ? 1 - part("year") : part("year");
  const local = new Date(0);
  local.setUTCFullYear(year, part("month") - 1, part("day"));
  local.setUTCHours(part("hour"), part("minute"), part("second"), date.getUTCMilliseconds());
  return local;
}

/** Making one takes longer than using it a thousand times. */
const formats = new Map<string, Intl.DateTimeFormat | undefined>();
const keptFormats = 64;

function zoneFormat(zone: string): Intl.DateTimeFormat | undefined {
  if (formats.has(zone)) return formats.get(zone);
  if (formats.size >= keptFormats) formats.clear();
  const format = zoneName.test(zone) ? makeFormat(zone) : undefined;
  formats.set(zone, format);
  return format;
}

/** Words of a name begin with a capital and go on in small letters, but for abbreviations and small words between. */
const zoneName =
  /^(?:[A-Z]{2,3}[+-]?[0-9]*(?:[A-Z]{3})?|[A-Z][A-Za-z]*[a-z][A-Za-z]*|W-SU|GB-Eire|NZ-CHAT)(?:\/[A-Z]+[a-z]*[A-Za-z0-9_+-]*)*$/;

function makeFormat(zone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone: zone, hourCycle: "h23", era: "short", year: "numeric", month: "numeric", day: "numeric",
      hour: "numeric", minute: "numeric", second: "numeric",
    }); // biome-ignore format: a table reads better in lines
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
    return typeof date === "string" ? new CelError(date) : BigInt(get(date));
  };

const total =
  (unit: bigint): Implementation =>
  (duration) =>
    (duration as Duration).nanoseconds / unit;

function getter(name: string, part: string, get: Field, unit?: bigint): FunctionDeclaration {
  const implementation: Implementation = field(get);
  const id = `timestamp_to_${part}`;
  return declare(name, [
    method(id, [timestampType], intType, (a): Value => implementation(a, null, null, null)),
    method(`${id}_with_tz`, [timestampType, stringType], intType, implementation),
    ...(unit === undefined ? [] : [method(`duration_to_${part}`, [durationType], intType, total(unit))]),
  ]);
}

/** The parts of times; of durations, which are totals. Months and days of the year count from 0, dates from 1. */
export const timesLibrary: readonly FunctionDeclaration[] = [
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
