import { decodeJSON, type KubeObject } from "@dray/api";

export { deepFreeze } from "@dray/api";
export { thaw } from "@dray/api/codec";

/** Parses a stored object. */
export function parseStored(text: string): KubeObject {
  // In the form in which this server writes objects, null included: readers of a kind say so by `Wire`.
  return decodeJSON(text) as KubeObject;
}

/** Structural equality of JSON values; a key with the value undefined counts as absent. */
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
