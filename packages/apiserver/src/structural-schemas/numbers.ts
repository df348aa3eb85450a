import { knownFormat } from "./formats.ts";
import type { Outcome } from "./outcome.ts";
import type { Schema } from "./schema.ts";

/** Returns the types that a schema allows; empty if it has none. */
export const typesOf = (schema: Schema): readonly string[] =>
  schema["x-kubernetes-int-or-string"]
    ? ["integer", "string"]
    : schema.type === undefined || schema.type === ""
      ? []
      : [schema.type];

const isWhole = (value: number | bigint): boolean => typeof value === "bigint" || Number.isInteger(value);

const ranges: Readonly<Record<string, (value: number | bigint) => boolean>> = {
  int32: (value) => isWhole(value) && value >= -(2 ** 31) && value < 2 ** 31,
  int64: (value) => isWhole(value) && BigInt(value) >= -(2n ** 63n) && BigInt(value) < 2n ** 63n,
  float: (value) => Math.abs(Number(value)) <= 3.4028234663852886e38,
};

/** Validates bounds, multiples and the range of the format, with kube-openapi's messages. */
export function checkNumber(outcome: Outcome, schema: Schema, path: string, value: number | bigint): void {
  const { multipleOf, maximum, minimum, exclusiveMaximum, exclusiveMinimum, type = "" } = schema;
  const format = knownFormat(schema);
  const other = (message: string): void =>
    outcome.add({ kind: "other", path, value, message: `${path} in body ${message}` });
  const whole = typeof value === "bigint" || Number.isInteger(value);
  const fits = ranges[format ?? (typesOf(schema).join() === "integer" ? "int64" : "")] ?? (() => true);
  /** Checks that a number is in the range of the type; adds a problem otherwise. */
  const inRange = (number: number | bigint, what: string): boolean => {
    if (fits(number)) return true;
    const of = format === undefined ? "(default format)" : `with format ${format}`;
    outcome.add({ kind: "general", path, message: `${what} value must be of type ${type} ${of} in ${path}` });
    return false;
  };
  inRange(value, "Checked");
  // Integers are compared with the integer part of a bound that is in the range of the type.
  const bound = (limit: number, what: string): number =>
    inRange(limit, what) && whole ? Math.trunc(limit) : limit;
  if (multipleOf !== undefined) {
    const factor = bound(multipleOf, "MultipleOf");
    if (factor <= 0) {
      const message = `factor MultipleOf declared for ${path} must be positive: ${factor}`;
      outcome.add({ kind: "other", path, value: factor, message });
    } else if (!isMultiple(value, factor, whole)) other(`should be a multiple of ${factor}`);
  }
  if (minimum !== undefined) {
    const limit = bound(minimum, "Minimum boundary");
    if (exclusiveMinimum ? value <= limit : value < limit) {
      other(`should be greater than ${exclusiveMinimum ? "" : "or equal to "}${limit}`);
    }
  }
  if (maximum !== undefined) {
    const limit = bound(maximum, "Maximum boundary");
    if (exclusiveMaximum ? value >= limit : value > limit) {
      other(`should be less than ${exclusiveMaximum ? "" : "or equal to "}${limit}`);
    }
  }
  outcome.matches++;
}

function isMultiple(value: number | bigint, factor: number, whole: boolean): boolean {
  if (whole && Number.isInteger(factor)) return BigInt(value) % BigInt(factor) === 0n;
  const quotient = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}
