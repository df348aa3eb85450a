import { compareSemanticVersions } from "@dray/api";
import { touchElements } from "./budget.ts";
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

/** CEL's `==`: true, false, or an error where a type of Kubernetes stands left of another type. */
export function equal(a: Value, b: Value): boolean | CelError {
  if (a === b) return true;
  if (a === null || b === null) return false;
  const left = typeof a;
  if (left === "string" || left === "boolean") return false;
  if (left === "number" || left === "bigint" || a instanceof Uint) return compareNumbers(a, b) === 0;
  if (a instanceof QuantityValue) {
    // Go tells a parsed quantity from a computed one and refuses the second on the right.
    if (!(b instanceof QuantityValue) || b.computed) return noSuchOverload;
    return a.quantity.equals(b.quantity);
  }
  if (a instanceof SemverValue) {
    return b instanceof SemverValue ? compareSemanticVersions(a.version, b.version) === 0 : noSuchOverload;
  }
  if (a instanceof MessageValue) {
    return b instanceof MessageValue && b.typeName === a.typeName && a.equals(b);
  }
  if (a instanceof LibraryValue) {
    return b instanceof LibraryValue && b.typeName === a.typeName ? a.equals(b) : noSuchOverload;
  }
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b);
  if (a instanceof MapValue) return b instanceof MapValue && equalMaps(a, b);
  if (a instanceof Uint8Array) {
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, i) => byte === b[i]);
  }
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanoseconds === b.nanoseconds;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false;
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equal(a.value, b.value);
  }
  return false;
}

function equalLists(a: readonly Value[], b: readonly Value[]): boolean {
  if (a.length !== b.length) return false;
  touchElements(a.length);
  return a.every((value, i) => equal(value, b[i]!) !== false);
}

function equalMaps(a: MapValue, b: MapValue): boolean {
  if (a.size !== b.size) return false;
  touchElements(a.size);
  for (const key of a.keys()) {
    const other = b.has(key) ? b.find(key) : undefined;
    if (other === undefined || equal(a.find(key)!, other) === false) return false;
  }
  return a.equalUnseen(b);
}

/**
 * -1, 0, 1; NaN where a NaN is met; undefined where one is no number. Like cel-go it compares a double with a whole
 * number by the double nearest to that.
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

/** The number, where it is a whole one; cel-go does not take the double of the smallest int for one. */
export function wholeNumber(value: Value): bigint | undefined {
  if (typeof value === "bigint") return value;
  if (value instanceof Uint) return value.value;
  if (typeof value === "number" && Number.isInteger(value) && value !== -(2 ** 63)) return BigInt(value);
  return undefined;
}
