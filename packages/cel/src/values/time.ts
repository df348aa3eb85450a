import { DurationError, parseDuration as nanosecondsOf } from "@dray/api";
import { CelError, Duration, Timestamp } from "./value.ts";
import { plainDouble } from "./value-text.ts";

/** Nanoseconds of a second. */
export const second = 1_000_000_000n;

/** Divides by a unit and rounds down, also below zero. */
export function floorDivide(value: bigint, unit: bigint): bigint {
  const rest = ((value % unit) + unit) % unit;
  return (value - rest) / unit;
}

/** Parses a duration in Go's notation: `1h15m30.918s`. Returns undefined for any other text. */
export function parseDuration(text: string): Duration | undefined {
  try {
    return new Duration(nanosecondsOf(text));
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}

/** 0001-01-01T00:00:00Z, the zero value of Go's time.Time. */
export const minTimestamp = -62135596800n * second;
const endOfTime = 253402300800n * second;

/** Makes a timestamp; returns an error before the year 1 and after the year 9999. */
export function timestamp(nanoseconds: bigint, offset = 0): Timestamp | CelError {
  if (nanoseconds < minTimestamp || nanoseconds >= endOfTime) return new CelError("timestamp overflow");
  return new Timestamp(nanoseconds, offset);
}

/**
 * The start of a day (UTC) of the Gregorian calendar, year 0 included; undefined if the day does not exist.
 */
export function calendarDay(year: number, month: number, day: number): Date | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return month > 0 && day > 0 && date.getUTCMonth() === month - 1 ? date : undefined;
}

const badTimestamp = new CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'");
const timestampForm = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Parses RFC 3339 as Go's time.Parse does: hours may have one digit. */
export function parseTimestamp(text: string): Timestamp | CelError {
  const match = timestampForm.exec(text);
  if (match === null) return badTimestamp;
  const [year, month, day, hour, minute, secs] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = calendarDay(year, month, day);
  if (date === undefined || hour > 23 || minute > 59 || secs > 59) return badTimestamp;
  date.setUTCHours(hour, minute, secs);
  const zone = match[8]!;
  let offset = 0;
  if (zone !== "Z") {
    const hours = Number(zone.slice(1, 3));
    const minutes = Number(zone.slice(4));
    if (hours > 24 || minutes > 60) return badTimestamp;
    offset = (hours * 60 + minutes) * (zone[0] === "-" ? -1 : 1);
  }
  const fraction = BigInt((match[7] ?? "").slice(0, 9).padEnd(9, "0"));
  return timestamp((BigInt(date.getTime()) / 1000n - BigInt(offset * 60)) * second + fraction, offset);
}

/** Seconds with a fraction. cel-go formats them as a double, so that long durations lose nanoseconds. */
export function durationText({ nanoseconds }: Duration): string {
  const inSeconds = Number(nanoseconds / second) + Number(nanoseconds % second) / 1e9;
  return `${plainDouble(inSeconds)}s`;
}

/** RFC 3339 with the offset of the text that the timestamp was parsed from. */
export function timestampText({ nanoseconds, offset }: Timestamp): string {
  const whole = floorDivide(nanoseconds, second);
  const date = new Date((Number(whole) + offset * 60) * 1000);
  const year = String(date.getUTCFullYear()).padStart(4, "0");
  const rest = date.toISOString().slice(-20, -5);
  const fraction = (nanoseconds - whole * second).toString().padStart(9, "0").replace(/0+$/, "");
  const size = Math.abs(offset);
  const two = (value: number): string => String(value).padStart(2, "0");
  const zone =
    offset === 0 ? "Z" : `${offset < 0 ? "-" : "+"}${two(Math.trunc(size / 60))}:${two(size % 60)}`;
  return `${year}${rest}${fraction === "" ? "" : `.${fraction}`}${zone}`;
}
