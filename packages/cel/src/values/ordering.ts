import { compareNumbers } from "./equality.ts";
import { compareText } from "./text.ts";
import { CelError, Duration, noSuchOverload, Timestamp, Uint, type Value } from "./value.ts";

/** A value without the operator. Texts and times are asked themselves, in Go, and do not say for what. */
export function missing(name: string, value: Value): CelError {
  const asked = typeof value === "string" || value instanceof Duration || value instanceof Timestamp;
  return asked ? noSuchOverload : new CelError(`no such overload: ${name}`);
}

/** -1, 0, 1, or an error. */
export function compare(a: Value, b: Value, name: string): number | CelError {
  if (typeof a === "bigint" || typeof a === "number" || a instanceof Uint) {
    // NaN is found out before the other value is looked at.
    const order = typeof a === "number" && Number.isNaN(a) ? a : compareNumbers(a, b);
    if (order === undefined) return noSuchOverload;
    return Number.isNaN(order) ? new CelError("NaN values cannot be ordered") : order;
  }
  if (typeof a === "string") return typeof b === "string" ? compareText(a, b) : noSuchOverload;
  if (typeof a === "boolean") return typeof b === "boolean" ? Number(a) - Number(b) : noSuchOverload;
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : noSuchOverload;
  if (a instanceof Duration) return b instanceof Duration ? orderOf(a, b) : noSuchOverload;
  if (a instanceof Timestamp) return b instanceof Timestamp ? orderOf(a, b) : noSuchOverload;
  return missing(name, a);
}

function orderOf(a: { nanoseconds: bigint }, b: { nanoseconds: bigint }): number {
  return a.nanoseconds < b.nanoseconds ? -1 : a.nanoseconds > b.nanoseconds ? 1 : 0;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1;
  return Math.sign(a.length - b.length);
}
