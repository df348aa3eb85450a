import { DurationError, floatText, parseDuration as nanosecondsOf } from "@dray/api";
import { declare, type FunctionDeclaration, form } from "../declarations.ts";
import { utf8 } from "../texts.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  stringType,
  timestampType,
  uintType,
} from "../types.ts";
import {
  CelError,
  Duration,
  inInt,
  integerOverflow,
  inUint,
  Timestamp,
  typeName,
  Uint,
  unsignedOverflow,
  type Value,
} from "../values.ts";

const failed = (to: string): CelError => new CelError(`type conversion error from 'string' to '${to}'`);
const badDuration = failed("google.protobuf.Duration");
const badTimestamp = failed("google.protobuf.Timestamp");
const int = (value: bigint): Value => (inInt(value) ? value : integerOverflow);
const uint = (value: bigint): Value => (inUint(value) ? new Uint(value) : unsignedOverflow);

const second = 1_000_000_000n;
/** Whole seconds of a time, downwards. */
function seconds(nanoseconds: bigint): bigint {
  const rest = ((nanoseconds % second) + second) % second;
  return (nanoseconds - rest) / second;
}

function doubleToWhole(value: number, make: (whole: bigint) => Value, overflow: CelError): Value {
  if (!Number.isFinite(value)) return overflow;
  // At the very ends float64 cannot tell the limit from the number beyond it, so cel-go refuses both.
  if (overflow === integerOverflow && Math.abs(value) >= 2 ** 63) return overflow;
  if (overflow === unsignedOverflow && value < 0) return overflow;
  return make(BigInt(Math.trunc(value)));
}

function parseInt64(text: string): Value {
  if (!/^[+-]?[0-9]+$/.test(text)) return failed("int");
  const value = BigInt(text.replace(/^\+/, ""));
  return inInt(value) ? value : failed("int");
}

function parseUint64(text: string): Value {
  if (!/^[0-9]+$/.test(text)) return failed("uint");
  const value = BigInt(text);
  return inUint(value) ? new Uint(value) : failed("uint");
}

const decimal = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i;
const hexadecimal = /^([+-]?)0x([0-9a-f]*)\.?([0-9a-f]*)p([+-]?[0-9]+)$/i;

/** As Go's strconv.ParseFloat reads doubles: words, hexadecimal digits and `_` between digits too. */
function parseDouble(text: string): Value {
  const word = /^(?:([+-]?)inf(?:inity)?|nan)$/i.exec(text);
  if (word !== null) {
    if (text.toLowerCase() === "nan") return Number.NaN;
    return word[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (!underscoresSeparate(text)) return failed("double");
  const plain = text.replaceAll("_", "");
  const hex = hexadecimal.exec(plain);
  let value = Number.NaN;
  if (hex !== null) {
    const [, sign, whole = "", fraction = "", power = ""] = hex;
    if (whole + fraction === "") return failed("double");
    value = Number(`0x${whole}${fraction}`) * 2 ** (Number(power) - 4 * fraction.length);
    if (sign === "-") value = -value;
  } else if (decimal.test(plain)) value = Number(plain);
  return Number.isFinite(value) ? value : failed("double");
}

/** A `_` stands between two digits, or after `0x`. */
function underscoresSeparate(text: string): boolean {
  const digit = /^[+-]?0x/i.test(text) ? "[0-9a-f]" : "[0-9]";
  return !text
    .replace(/^([+-]?0x)_/i, "$10")
    .replace(new RegExp(`(?<=${digit})_(?=${digit})`, "gi"), "")
    .includes("_");
}

function parseBool(text: string): Value {
  if (["1", "t", "T", "true", "TRUE", "True"].includes(text)) return true;
  if (["0", "f", "F", "false", "FALSE", "False"].includes(text)) return false;
  return failed("bool");
}

/** Go's notation of durations: `1h15m30.918s`. Undefined for anything else. */
export function parseDuration(text: string): Duration | undefined {
  try {
    return new Duration(nanosecondsOf(text));
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}

const timestampForm = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

const firstInstant = -62135596800n * second;
const lastInstant = 253402300800n * second;

/** The instant, or an error where that is before the year 1 or after the year 9999. */
export function timestamp(nanoseconds: bigint, offset = 0): Timestamp | CelError {
  if (nanoseconds < firstInstant || nanoseconds >= lastInstant) return new CelError("timestamp overflow");
  return new Timestamp(nanoseconds, offset);
}

/** The start of a day of the Gregorian calendar, which may begin with the year 0; undefined if there is no such day. */
export function calendarDay(year: number, month: number, day: number): Date | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return month > 0 && day > 0 && date.getUTCMonth() === month - 1 ? date : undefined;
}

/** RFC 3339, but that hours may have one digit (Go's time.Parse). */
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

/** A scalar within the text of an error, as Go's `%v` writes it; of others the type. */
export function inText(value: Value): string {
  if (typeof value === "number") return floatText(value, 21);
  if (value === null) return "NULL_VALUE";
  if (value instanceof Uint) return String(value.value);
  return typeof value === "object" ? typeName(value) : String(value);
}

/** A finite double without exponent, in as few digits as tell it from others (Go's `%f` of precision -1). */
export function plainDouble(value: number): string {
  const [digits = "", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const [first = "", rest = ""] = digits.split(".");
  const power = Number(exponent);
  const all = power < 0 ? "0".repeat(-power) + first + rest : first + rest.padEnd(power, "0");
  const point = Math.max(power, 0) + 1;
  const fraction = all.slice(point);
  return (value < 0 ? "-" : "") + all.slice(0, point) + (fraction === "" ? "" : `.${fraction}`);
}

/** Seconds with a fraction, as cel-go writes durations: as a double, so that long ones lose nanoseconds. */
export function durationText({ nanoseconds }: Duration): string {
  const inSeconds = Number(nanoseconds / second) + Number(nanoseconds % second) / 1e9;
  return `${plainDouble(inSeconds)}s`;
}

/** RFC 3339 with the offset that it was written with. */
export function timestampText({ nanoseconds, offset }: Timestamp): string {
  const whole = seconds(nanoseconds);
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

export function bytesText(value: Uint8Array): string | CelError {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    return new CelError("invalid UTF-8 in bytes, cannot convert to string");
  }
}

/** The functions that turn a value of one scalar type into another. */
export const conversions: readonly FunctionDeclaration[] = [
  declare("bool", [
    form("bool_to_bool", [boolType], boolType, (a) => a),
    form("string_to_bool", [stringType], boolType, (a) => parseBool(a as string)),
  ]),
  declare("bytes", [
    form("bytes_to_bytes", [bytesType], bytesType, (a) => a),
    form("string_to_bytes", [stringType], bytesType, (a) => utf8(a as string)),
  ]),
  declare("double", [
    form("double_to_double", [doubleType], doubleType, (a) => a),
    form("int64_to_double", [intType], doubleType, (a) => Number(a)),
    form("string_to_double", [stringType], doubleType, (a) => parseDouble(a as string)),
    form("uint64_to_double", [uintType], doubleType, (a) => Number((a as Uint).value)),
  ]),
  declare("duration", [
    form("duration_to_duration", [durationType], durationType, (a) => a),
    form("string_to_duration", [stringType], durationType, (a) => parseDuration(a as string) ?? badDuration),
  ]),
  declare("int", [
    form("int64_to_int64", [intType], intType, (a) => a),
    form("double_to_int64", [doubleType], intType, (a) => doubleToWhole(a as number, int, integerOverflow)),
    form("duration_to_int64", [durationType], intType, (a) => (a as Duration).nanoseconds),
    form("string_to_int64", [stringType], intType, (a) => parseInt64(a as string)),
    form("timestamp_to_int64", [timestampType], intType, (a) => seconds((a as Timestamp).nanoseconds)),
    form("uint64_to_int64", [uintType], intType, (a) => int((a as Uint).value)),
  ]),
  declare("string", [
    form("string_to_string", [stringType], stringType, (a) => a),
    form("bool_to_string", [boolType], stringType, (a) => String(a)),
    form("bytes_to_string", [bytesType], stringType, (a) => bytesText(a as Uint8Array)),
    form("double_to_string", [doubleType], stringType, (a) => floatText(a as number)),
    form("duration_to_string", [durationType], stringType, (a) => durationText(a as Duration)),
    form("int64_to_string", [intType], stringType, (a) => String(a)),
    form("timestamp_to_string", [timestampType], stringType, (a) => timestampText(a as Timestamp)),
    form("uint64_to_string", [uintType], stringType, (a) => String((a as Uint).value)),
  ]),
  declare("timestamp", [
    form("timestamp_to_timestamp", [timestampType], timestampType, (a) => a),
    form("int64_to_timestamp", [intType], timestampType, (a) => timestamp((a as bigint) * second)),
    form("string_to_timestamp", [stringType], timestampType, (a) => parseTimestamp(a as string)),
  ]),
  declare("uint", [
    form("uint64_to_uint64", [uintType], uintType, (a) => a),
    form("double_to_uint64", [doubleType], uintType, (a) =>
      doubleToWhole(a as number, uint, unsignedOverflow),
    ),
    form("int64_to_uint64", [intType], uintType, (a) => uint(a as bigint)),
    form("string_to_uint64", [stringType], uintType, (a) => parseUint64(a as string)),
  ]),
];
