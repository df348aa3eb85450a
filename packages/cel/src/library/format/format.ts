import { floatText, quoted, quotedBytes } from "@dray/api";
import { touchElements } from "../../values/budget.ts";
import { compareText, utf8 } from "../../values/text.ts";
import { durationText, timestampText } from "../../values/time.ts";
import { dynType, listType, stringType } from "../../values/types.ts";
import {
  CelError,
  Duration,
  MapValue,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "../../values/value.ts";
import { bytesText } from "../../values/value-text.ts";
import { declare, type FunctionDeclaration, method } from "../declarations.ts";
import { accepted, type Clause, FormatError, followFormat, wrongType } from "./clauses.ts";
import { fixedText, scientificText } from "./numbers.ts";

/** What `%f` and `%e` do without a precision. */
const usualPrecision = 6;
/** Texts that stand for doubles. */
const words: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

function write({ verb, precision }: Clause, value: Value): string | FormatError {
  const type = typeName(value);
  if (verb === "f" || verb === "e") {
    const double = typeof value === "string" ? words[value] : value;
    if (typeof double !== "number") return wrongType(verb, type);
    if (verb === "f") return fixedText(double, precision ?? usualPrecision);
    // Upstream takes the number for a width, of 16 bits: there are always six digits (observed).
    return scientificText(double).padStart((precision ?? usualPrecision) % 65_536);
  }
  if (!accepted[verb].types.includes(type)) return wrongType(verb, type);
  const integer = value instanceof Uint ? value.value : value;
  switch (verb) {
    case "s":
      return plainText(value);
    case "d":
      return String(integer);
    case "b":
      return typeof integer === "bigint" ? integer.toString(2) : value === true ? "1" : "0";
    case "o":
      return (integer as bigint).toString(8);
    default: {
      const text =
        typeof integer === "bigint"
          ? integer.toString(16)
          : hexOf(typeof value === "string" ? utf8(value) : (value as Uint8Array));
      return verb === "x" ? text : text.toUpperCase();
    }
  }
}

const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** As `%s` writes a value that stands alone. */
function plainText(value: Value): string | FormatError {
  if (value === null) return "null";
  if (Array.isArray(value)) return listText(value);
  if (value instanceof MapValue) return mapText(value);
  if (typeof value === "number") return floatText(value);
  if (value instanceof Uint8Array) {
    const text = bytesText(value);
    if (typeof text === "string") return text;
    return new FormatError(`could not convert argument "${text.message}" to string`);
  }
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof TypeValue) return value.name;
  return String(value instanceof Uint ? value.value : value);
}

/** As `%s` writes a value within a list or map: so that one could read it again. */
function innerText(value: Value): string | FormatError {
  if (!accepted.s.types.includes(typeName(value))) {
    return new FormatError(`no formatting function for ${typeName(value)}`);
  }
  if (typeof value === "number") return innerDouble(value);
  const text = plainText(value);
  if (text instanceof FormatError) return text;
  if (typeof value === "string") return quoted(text);
  if (value instanceof Uint8Array) return `b${quoted(text)}`;
  if (value instanceof Duration) return `duration(${quotedBytes(text)})`;
  if (value instanceof Timestamp) return `timestamp(${quotedBytes(text)})`;
  return text;
}

function innerDouble(value: number): string {
  if (!Number.isFinite(value)) return `"${floatText(value)}"`;
  // Go writes the sign of a negative zero, and no commas.
  return (Object.is(value, -0) ? "-" : "") + fixedText(value, usualPrecision).replaceAll(",", "");
}

/** The texts of all, or the first error. */
function join(texts: readonly (string | FormatError)[], open: string, close: string): string | FormatError {
  const wrong = texts.find((text) => text instanceof FormatError);
  return wrong instanceof FormatError ? wrong : open + texts.join(", ") + close;
}

function listText(list: readonly Value[]): string | FormatError {
  touchElements(list.length);
  return join(list.map(innerText), "[", "]");
}

const keys = ["string", "bool", "int", "uint"];

/** Sorted by the texts of the keys, strings with their quotes. */
function mapText(map: MapValue): string | FormatError {
  touchElements(map.size);
  const entries = Array.from(map.keys(), (key): readonly [string, string] | FormatError => {
    const type = typeName(key);
    if (!keys.includes(type)) return new FormatError(`no formatting function for map key of type ${type}`);
    const name = innerText(key);
    const value = innerText(map.find(key)!);
    if (name instanceof FormatError) return name;
    return value instanceof FormatError ? value : [name, value];
  });
  const wrong = entries.find((entry) => entry instanceof FormatError);
  if (wrong instanceof FormatError) return wrong;
  const sorted = (entries as (readonly [string, string])[]).sort(([a], [b]) => compareText(a, b));
  return join(
    sorted.map(([name, value]) => `${name}:${value}`),
    "{",
    "}",
  );
}

function format(text: Value, args: Value): Value {
  const list = args as readonly Value[];
  const result = followFormat(
    text as string,
    list.length,
    (clause, index) => write(clause, list[index]!),
    false,
  );
  return result instanceof FormatError ? new CelError(result.message) : result.text;
}

/** `format` of strings (cel-go ext.Strings, version 2, in the locale en_US). */
export const formatLibrary: readonly FunctionDeclaration[] = [
  declare("format", [method("string_format", [stringType, listType(dynType)], stringType, format)]),
];
