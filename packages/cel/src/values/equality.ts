import { compareSemanticVersions } from "@dray/api";
import { ElementBudget } from "./element-budget.ts";
import { MessageValue } from "./message.ts";
import {
  type CelError,
  Duration,
  LibraryValue,
  MapValue,
  noSuchOverload,
  Optional,
  QuantityValue,
  SemverValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

/** CEL's `==` outside an evaluation. Throws a RangeError for lists or maps with too many elements. */
export function equal(a: Value, b: Value): boolean | CelError {
  return equalWithin(a, b, new ElementBudget());
}

/**
 * CEL's `==`. Returns an error if the left operand has a type of Kubernetes and the right one has another
 * type.
 */
export function equalWithin(a: Value, b: Value, budget: ElementBudget): boolean | CelError {
  if (a === b) return true;
  if (a === null || b === null) return false;
  const left = typeof a;
  if (left === "string" || left === "boolean") return false;
  if (left === "number" || left === "bigint" || a instanceof Uint) return compareNumbers(a, b) === 0;
  if (a instanceof QuantityValue) {
    // In Go a parsed and a computed quantity have two types, and the second one is rejected on the right.
    if (!(b instanceof QuantityValue) || b.computed) return noSuchOverload;
    return a.quantity.equals(b.quantity);
  }
  if (a instanceof SemverValue) {
    return b instanceof SemverValue ? compareSemanticVersions(a.version, b.version) === 0 : noSuchOverload;
  }
  if (a instanceof MessageValue) {
    return b instanceof MessageValue && b.typeName === a.typeName && a.equals(b, budget);
  }
  if (a instanceof LibraryValue) {
    return b instanceof LibraryValue && b.typeName === a.typeName ? a.equals(b, budget) : noSuchOverload;
  }
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b, budget);
  if (a instanceof MapValue) return b instanceof MapValue && equalMaps(a, b, budget);
  if (a instanceof Uint8Array) {
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, i) => byte === b[i]);
  }
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanoseconds === b.nanoseconds;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false;
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equalWithin(a.value, b.value, budget);
  }
  return false;
}

function equalLists(a: readonly Value[], b: readonly Value[], budget: ElementBudget): boolean {
  if (a.length !== b.length) return false;
  budget.spend(a.length);
  return a.every((value, i) => equalWithin(value, b[i]!, budget) !== false);
}

function equalMaps(a: MapValue, b: MapValue, budget: ElementBudget): boolean {
  if (a.size !== b.size) return false;
  budget.spend(a.size);
  for (const [key, value] of a.entries()) {
    const other = b.has(key) ? b.find(key) : undefined;
    if (other === undefined || equalWithin(value, other, budget) === false) return false;
  }
  return a.equalUnseen(b);
}

/**
 * Returns -1, 0 or 1; NaN if an operand is NaN, undefined if an operand is not a number. Like cel-go it
 * compares an integer with a double as the nearest double.
 */
export function compareNumbers(a: Value, b: Value): number | undefined {
  let x = a instanceof Uint ? a.value : a;
  let y = b instanceof Uint ? b.value : b;
  if (typeof x !== "number" && typeof x !== "bigint") return undefined;
  if (typeof y !== "number" && typeof y !== "bigint") return undefined;
  if (typeof x !== typeof y) {
    x = Number(x);
    y = Number(y);
  }
  if (x < y) return -1;
  if (x > y) return 1;
  return Number.isNaN(x) || Number.isNaN(y) ? Number.NaN : 0;
}

/** The integer that a number equals, if any. cel-go excludes the double of the minimum int. */
export function wholeNumber(value: Value): bigint | undefined {
  if (typeof value === "bigint") return value;
  if (value instanceof Uint) return value.value;
  if (typeof value === "number" && Number.isInteger(value) && value !== -(2 ** 63)) return BigInt(value);
  return undefined;
}
