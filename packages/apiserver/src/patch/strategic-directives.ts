import type { StatusError } from "@dray/api";
import { goText } from "../json/go-text.ts";
import { fieldOf, isObject, type JsonObject } from "../json/values.ts";
import { plainError } from "./errors.ts";

/** Says what becomes of the map or of the list element that holds it: `delete`, `replace`, `merge`. */
export const directive = "$patch";
/** The fields that a map keeps. */
export const retainKeys = "$retainKeys";
/** Before `/field`: values that leave a list. */
export const deleteFrom = "$deleteFromPrimitiveList";
/** Before `/field`: the order of a list's elements. */
export const elementOrder = "$setElementOrder";

/** The `$patch` of a list element; undefined where it has none. */
export function directiveOf(item: unknown): unknown {
  return isObject(item) ? fieldOf(item, directive) : undefined;
}

/** 500 with the text of upstream for an unknown `$patch`. */
export function unknownDirective(how: unknown, patch: JsonObject): StatusError {
  return plainError(`unknown patch type: ${goText(how)} in map: ${goText(patch)}`);
}
