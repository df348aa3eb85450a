import { StatusError } from "@dray/api";
import { goJsonType } from "../json/go-text.ts";
import {
  copyOf,
  emptyLike,
  fieldOf,
  isObject,
  type JsonObject,
  type MutableObject,
  setField,
} from "../json/values.ts";

/**
 * Applies a JSON merge patch (RFC 7386): objects are merged, null removes, everything else replaces. `patch`
 * is the decoded body. Throws 400 if it is not an object.
 */
export function mergePatch(object: JsonObject, patch: unknown): JsonObject {
  if (patch === null) throw StatusError.of("BadRequest", "Invalid JSON Patch");
  if (!isObject(patch)) {
    throw StatusError.of(
      "BadRequest",
      `error decoding patch: json: cannot unmarshal ${goJsonType(patch)} into Go value of type map[string]interface {}`,
    );
  }
  return merge(object, patch);
}

function merge(target: JsonObject, patch: JsonObject): JsonObject {
  let result: MutableObject | undefined;
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    const current = fieldOf(target, key);
    if (change === null) {
      if (!Object.hasOwn(target, key)) continue;
      result ??= copyOf(target);
      delete result[key];
      continue;
    }
    const merged = isObject(change)
      ? merge(isObject(current) ? current : emptyLike(change), change)
      : items(change);
    if (merged === current && current !== undefined) continue;
    result ??= copyOf(target);
    setField(result, key, merged);
  }
  return result ?? target;
}

/**
 * Returns a list with nulls removed from its objects, as from all new values; nulls of the list itself stay.
 */
function items(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item) => (isObject(item) ? merge(emptyLike(item), item) : items(item)));
}
