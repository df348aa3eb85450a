import { floatText } from "@dray/api";
import { inInt, inUint } from "../values/integers.ts";
import { utf8 } from "../values/text.ts";
import {
  durationText,
  floorDivide,
  parseDuration,
  parseTimestamp,
  second,
  timestamp,
  timestampText,
} from "../values/time.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  stringType,
  timestampType,
  uintType,
} from "../values/types.ts";
import {
  CelError,
  type Duration,
  integerOverflow,
  type Timestamp,
  Uint,
  unsignedOverflow,
  type Value,
} from "../values/value.ts";
import { bytesText } from "../values/value-text.ts";
import * as charges from "./costs/charges.ts";
import type { Cost } from "./costs/cost.ts";
import { conversion } from "./costs/estimates.ts";
import { wrapped } from "./costs/size-estimate.ts";
import { declare, type FunctionDeclaration, overload, priced } from "./declarations.ts";

const failed = (to: string): CelError => new CelError(`type conversion error from 'string' to '${to}'`);
const badDuration = failed("google.protobuf.Duration");
const int = (value: bigint): Value => (inInt(value) ? value : integerOverflow);
const uint = (value: bigint): Value => (inUint(value) ? new Uint(value) : unsignedOverflow);

function doubleToWhole(value: number, make: (whole: bigint) => Value, overflow: CelError): Value {
  if (!Number.isFinite(value)) return overflow;
  // A double cannot tell the minimum and maximum int from the integers beyond them: cel-go rejects all of
  // these.
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

/** Parses like Go's strconv.ParseFloat: `inf`, hexadecimal digits, and `_` between digits. */
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

/** Reports whether each `_` is between two digits or after `0x`. */
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

const encodingCost: Cost = {
  estimate: conversion(({ min, max }) => ({ min, max: wrapped(max * 4n) })),
  charge: charges.first,
};
const decodingCost: Cost = {
  estimate: conversion(({ min, max }) => ({ min: min / 4n, max })),
  charge: charges.first,
};

const declarations: readonly FunctionDeclaration[] = [
  declare("bool", [
    overload("bool_to_bool", [boolType], boolType, (a) => a),
    overload("string_to_bool", [stringType], boolType, (a) => parseBool(a as string)),
  ]),
  declare("bytes", [
    overload("bytes_to_bytes", [bytesType], bytesType, (a) => a),
    priced(
      encodingCost,
      overload("string_to_bytes", [stringType], bytesType, (a) => utf8(a as string)),
    ),
  ]),
  declare("double", [
    overload("double_to_double", [doubleType], doubleType, (a) => a),
    overload("int64_to_double", [intType], doubleType, (a) => Number(a)),
    overload("string_to_double", [stringType], doubleType, (a) => parseDouble(a as string)),
    overload("uint64_to_double", [uintType], doubleType, (a) => Number((a as Uint).value)),
  ]),
  {
    ...declare("duration", [
      overload("duration_to_duration", [durationType], durationType, (a) => a),
      overload(
        "string_to_duration",
        [stringType],
        durationType,
        (a) => parseDuration(a as string) ?? badDuration,
      ),
    ]),
    checkLiteral: (text) => parseDuration(text) !== undefined,
  },
  declare("int", [
    overload("int64_to_int64", [intType], intType, (a) => a),
    overload("double_to_int64", [doubleType], intType, (a) =>
      doubleToWhole(a as number, int, integerOverflow),
    ),
    overload("duration_to_int64", [durationType], intType, (a) => (a as Duration).nanoseconds),
    overload("string_to_int64", [stringType], intType, (a) => parseInt64(a as string)),
    overload("timestamp_to_int64", [timestampType], intType, (a) =>
      floorDivide((a as Timestamp).nanoseconds, second),
    ),
    overload("uint64_to_int64", [uintType], intType, (a) => int((a as Uint).value)),
  ]),
  declare("string", [
    overload("string_to_string", [stringType], stringType, (a) => a),
    overload("bool_to_string", [boolType], stringType, (a) => String(a)),
    priced(
      decodingCost,
      overload("bytes_to_string", [bytesType], stringType, (a) => bytesText(a as Uint8Array)),
    ),
    overload("double_to_string", [doubleType], stringType, (a) => floatText(a as number)),
    overload("duration_to_string", [durationType], stringType, (a) => durationText(a as Duration)),
    overload("int64_to_string", [intType], stringType, (a) => String(a)),
    overload("timestamp_to_string", [timestampType], stringType, (a) => timestampText(a as Timestamp)),
    overload("uint64_to_string", [uintType], stringType, (a) => String((a as Uint).value)),
  ]),
  {
    ...declare("timestamp", [
      overload("timestamp_to_timestamp", [timestampType], timestampType, (a) => a),
      overload("int64_to_timestamp", [intType], timestampType, (a) => timestamp((a as bigint) * second)),
      overload("string_to_timestamp", [stringType], timestampType, (a) => parseTimestamp(a as string)),
    ]),
    checkLiteral: (text) => !(parseTimestamp(text) instanceof CelError),
  },
  declare("uint", [
    overload("uint64_to_uint64", [uintType], uintType, (a) => a),
    overload("double_to_uint64", [doubleType], uintType, (a) =>
      doubleToWhole(a as number, uint, unsignedOverflow),
    ),
    overload("int64_to_uint64", [intType], uintType, (a) => uint(a as bigint)),
    overload("string_to_uint64", [stringType], uintType, (a) => parseUint64(a as string)),
  ]),
];

/** The functions that convert scalars. */
export const conversions: readonly FunctionDeclaration[] = declarations.map((declaration) => ({
  ...declaration,
  isConversion: true,
}));
