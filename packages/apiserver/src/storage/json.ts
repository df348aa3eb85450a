import type { KubeObject } from "@dray/api";

export { thaw } from "@dray/api/codec";

/** A run of digits that a double may not hold. */
const longDigits = /\d{16}/;

/**
 * Parses what we have stored. Integers that a number cannot hold come back as `bigint`; the check for long runs of
 * digits keeps the common case as fast as JSON.parse.
 */
export function parseStored(text: string): KubeObject {
  if (!longDigits.test(text)) return JSON.parse(text) as KubeObject;
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    const source = context?.source;
    return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
  }) as KubeObject;
}

/** Freezes an object and all in it; parts that are frozen already are taken to be so all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (ArrayBuffer.isView(value)) return value;
  Object.freeze(value);
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const key in value) deepFreeze((value as Record<string, unknown>)[key]);
  return value;
}

/** Structural equality of JSON values; a key whose value is undefined counts as absent. */
export function deepEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    return (
      Array.isArray(left) &&
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => deepEqual(item, right[index]))
    );
  }
  const a = left as Record<string, unknown>;
  const b = right as Record<string, unknown>;
  for (const key of Object.keys(a)) {
    if (a[key] !== undefined && (!Object.hasOwn(b, key) || !deepEqual(a[key], b[key]))) return false;
  }
  for (const key of Object.keys(b)) {
    if (b[key] !== undefined && (!Object.hasOwn(a, key) || a[key] === undefined)) return false;
  }
  return true;
}
