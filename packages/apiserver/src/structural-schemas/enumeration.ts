import { encodeJSON } from "@dray/api/codec";
import { deepEqual } from "../storage/json.ts";

/** Sets of the values of long enumerations; short ones are searched. */
const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

/** Reports whether the value is in an enumeration. Null never is. */
export function isInEnumeration(allowed: readonly unknown[], value: unknown): boolean {
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

/** Returns the values of an enumeration as printed in messages: many errors may name the same ones. */
export function enumTexts(allowed: readonly unknown[]): readonly string[] {
  let found = texts.get(allowed);
  if (found === undefined) {
    found = allowed.map((one) => (typeof one === "string" ? one : encodeJSON(one)));
    texts.set(allowed, found);
  }
  return found;
}
