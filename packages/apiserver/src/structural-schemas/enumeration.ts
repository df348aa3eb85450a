import { encodeJSON } from "@dray/api/codec";
import { deepEqual } from "../storage/json.ts";

/** The values of each enumeration, for those that are not looked at one by one. */
const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

/** Is the value one of an enumeration? Null is never allowed by naming it. */
export function isAmong(allowed: readonly unknown[], value: unknown): boolean {
  if (typeof value === "object") {
    return allowed.some((one) => one !== null && typeof one === "object" && deepEqual(one, value));
  }
  let set = sets.get(allowed);
  if (set === undefined) {
    set = new Set(allowed);
    sets.set(allowed, set);
  }
  return set.has(value);
}

const texts = new WeakMap<readonly unknown[], readonly string[]>();

/** The values of an enumeration as messages have them: many errors may name the same ones. */
export function enumTexts(allowed: readonly unknown[]): readonly string[] {
  let found = texts.get(allowed);
  if (found === undefined) {
    found = allowed.map((one) => (typeof one === "string" ? one : encodeJSON(one)));
    texts.set(allowed, found);
  }
  return found;
}
