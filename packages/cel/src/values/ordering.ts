import { compareNumbers } from "./equality.ts";
import { compareText } from "./text.ts";
import { CelError, Duration, noSuchOverload, Timestamp, Uint, type Value } from "./value.ts";

/**
 * The error of a value without an operator. In Go strings and times report it themselves, and leave the name
 * out.
 */
export function missingOperator(name: string, value: Value): CelError {
  const isNameless = typeof value === "string" || value instanceof Duration || value instanceof Timestamp;
  return isNameless ? noSuchOverload : new CelError(`no such overload: ${name}`);
}

/** Returns -1, 0 or 1, or an error for values without an order. `operator` is the name for the error. */
export function compare(a: Value, b: Value, operator: string): number | CelError {
  if (typeof a === "bigint" || typeof a === "number" || a instanceof Uint) {
    // NaN is reported before the type of the other operand.
    const order = typeof a === "number" && Number.isNaN(a) ? a : compareNumbers(a, b);
    if (order === undefined) return noSuchOverload;
    return Number.isNaN(order) ? new CelError("NaN values cannot be ordered") : order;
  }
  if (typeof a === "string") return typeof b === "string" ? compareText(a, b) : noSuchOverload;
  if (typeof a === "boolean") return typeof b === "boolean" ? Number(a) - Number(b) : noSuchOverload;
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : noSuchOverload;
  if (a instanceof Duration) return b instanceof Duration ? compareTimes(a, b) : noSuchOverload;
  if (a instanceof Timestamp) return b instanceof Timestamp ? compareTimes(a, b) : noSuchOverload;
  return missingOperator(operator, a);
}

function compareTimes(a: { nanoseconds: bigint }, b: { nanoseconds: bigint }): number {
  return a.nanoseconds < b.nanoseconds ? -1 : a.nanoseconds > b.nanoseconds ? 1 : 0;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1;
  return Math.sign(a.length - b.length);
}
