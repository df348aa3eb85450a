import type { StatusError } from "@dray/api";
import { goText } from "../json/go-text.ts";
import { fieldOf, isObject, type JsonObject } from "../json/values.ts";
import { plainError } from "./errors.ts";

/** Operation on the map or list element that contains it: `delete`, `replace`, `merge`. */
export const directive = "$patch";
/** Lists the fields that a map keeps. */
export const retainKeys = "$retainKeys";
/** Prefix of `/field`: values to delete from a list. */
export const deleteFrom = "$deleteFromPrimitiveList";
/** Prefix of `/field`: the order of a list's elements. */
export const elementOrder = "$setElementOrder";

/** Returns the `$patch` of a list element; undefined if it has none. */
export function directiveOf(item: unknown): unknown {
  return isObject(item) ? fieldOf(item, directive) : undefined;
}

/** Creates a 500 with upstream's message for an unknown `$patch`. */
export function unknownDirective(operation: unknown, patch: JsonObject): StatusError {
  return plainError(`unknown patch type: ${goText(operation)} in map: ${goText(patch)}`);
}
