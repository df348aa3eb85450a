import { floatText, quoted, quotedBytes } from "@dray/api";
import type { ElementBudget } from "../../values/element-budget.ts";
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
import { traversal } from "../costs/cost.ts";
import { declare, type FunctionDeclaration, inContext, method, priced } from "../declarations.ts";
import { accepted, type Clause, FormatError, formatClauses, wrongType } from "./clauses.ts";
import { fixedText, scientificText } from "./numbers.ts";

/** The precision of `%f` and `%e` without one. */
const defaultPrecision = 6;
/** Strings that stand for doubles. */
const doubleNames: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

function formatValue({ verb, precision }: Clause, value: Value, budget: ElementBudget): string | FormatError {
  const type = typeName(value);
  if (verb === "f" || verb === "e") {
    const double = typeof value === "string" ? doubleNames[value] : value;
    if (typeof double !== "number") return wrongType(verb, type);
    if (verb === "f") return fixedText(double, precision ?? defaultPrecision);
    // Upstream takes the precision for a width of 16 bits: there are always six digits (observed).
    return scientificText(double).padStart((precision ?? defaultPrecision) % 65_536);
  }
  if (!accepted[verb].types.includes(type)) return wrongType(verb, type);
  const integer = value instanceof Uint ? value.value : value;
  switch (verb) {
    case "s":
      return plainText(value, budget);
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

/** `%s` of a value at the top level. */
function plainText(value: Value, budget: ElementBudget): string | FormatError {
  if (value === null) return "null";
  if (Array.isArray(value)) return listText(value, budget);
  if (value instanceof MapValue) return mapText(value, budget);
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

/** `%s` of a value in a list or map: as CEL writes it. */
function nestedText(value: Value, budget: ElementBudget): string | FormatError {
  if (!accepted.s.types.includes(typeName(value))) {
    return new FormatError(`no formatting function for ${typeName(value)}`);
  }
  if (typeof value === "number") return nestedDouble(value);
  const text = plainText(value, budget);
  if (text instanceof FormatError) return text;
  if (typeof value === "string") return quoted(text);
  if (value instanceof Uint8Array) return `b${quoted(text)}`;
  if (value instanceof Duration) return `duration(${quotedBytes(text)})`;
  if (value instanceof Timestamp) return `timestamp(${quotedBytes(text)})`;
  return text;
}

function nestedDouble(value: number): string {
  if (!Number.isFinite(value)) return `"${floatText(value)}"`;
  // Go writes the sign of a negative zero, and no commas.
  return (Object.is(value, -0) ? "-" : "") + fixedText(value, defaultPrecision).replaceAll(",", "");
}

/** Joins the texts, or returns the first error. */
function join(texts: readonly (string | FormatError)[], open: string, close: string): string | FormatError {
  const error = texts.find((text) => text instanceof FormatError);
  return error instanceof FormatError ? error : open + texts.join(", ") + close;
}

function listText(list: readonly Value[], budget: ElementBudget): string | FormatError {
  budget.spend(list.length);
  return join(
    list.map((element) => nestedText(element, budget)),
    "[",
    "]",
  );
}

const keyTypes = ["string", "bool", "int", "uint"];

/** Sorted by the texts of the keys; strings are compared with their quotes. */
function mapText(map: MapValue, budget: ElementBudget): string | FormatError {
  budget.spend(map.size);
  const entries = Array.from(map.entries(), ([key, inner]): readonly [string, string] | FormatError => {
    const type = typeName(key);
    if (!keyTypes.includes(type))
      return new FormatError(`no formatting function for map key of type ${type}`);
    const name = nestedText(key, budget);
    const value = nestedText(inner, budget);
    if (name instanceof FormatError) return name;
    return value instanceof FormatError ? value : [name, value];
  });
  const error = entries.find((entry) => entry instanceof FormatError);
  if (error instanceof FormatError) return error;
  const sorted = (entries as (readonly [string, string])[]).sort(([a], [b]) => compareText(a, b));
  return join(
    sorted.map(([name, value]) => `${name}:${value}`),
    "{",
    "}",
  );
}

const format = inContext(({ budget }) => (text, args) => {
  const list = args as readonly Value[];
  const result = formatClauses(
    text as string,
    list.length,
    (clause, index) => formatValue(clause, list[index]!, budget),
    false,
  );
  return result instanceof FormatError ? new CelError(result.message) : result.text;
});

/** `format` of strings (cel-go ext.Strings, version 2, in the locale en_US). */
export const formatLibrary: readonly FunctionDeclaration[] = [
  declare("format", [
    priced(traversal, method("string_format", [stringType, listType(dynType)], stringType, format)),
  ]),
];
