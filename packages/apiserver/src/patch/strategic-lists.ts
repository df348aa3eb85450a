import { StatusError } from "@dray/api";
import { goText } from "../json/go-text.ts";
import type { JsonObject } from "../json/values.ts";
import { plainError } from "./errors.ts";
import { directive, unknownDirective } from "./strategic-directives.ts";
import { arranged, Places } from "./strategic-order.ts";
import type { FieldSchema, MapSchema } from "./type-schema.ts";

/** Returns the type of a JSON value by JavaScript's name. */
export function jsonTypeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

/** Merges an element into the one with the same merge key. */
export type MergeElement = (
  element: JsonObject,
  change: JsonObject,
  schema: MapSchema | undefined,
) => JsonObject;

/** Merges a list marked `merge` with that of a patch: by merge key, or as a set. Throws StatusError. */
export function mergeList(
  original: readonly unknown[],
  patch: readonly unknown[],
  field: FieldSchema,
  mergeElement: MergeElement,
): readonly unknown[] {
  const type = elementType([original, patch]);
  if (type === undefined) return original;
  const mergeKey = field.patchMergeKey ?? "";
  if (type !== "object") {
    const all = [...original, ...patch];
    const places = new Places(all, "");
    const merged = all.filter((item, i) => places.of(item) === i);
    return arranged(merged, patch, original, "");
  }
  const element = field.type.list?.element ?? {};
  if (mergeKey === "") {
    throw plainError(`cannot merge lists without merge key for ${element.map?.name ?? ""}`);
  }
  const { kept, changes } = directed(original as JsonObject[], patch as JsonObject[], mergeKey);
  const merged = [...kept];
  const places = new Places([], mergeKey);
  merged.forEach((item, index) => {
    if (Object.hasOwn(item, mergeKey)) places.add(item, index);
  });
  for (const change of changes) {
    const at = places.of(change);
    if (at < 0) places.add(change, merged.push(change) - 1);
    else merged[at] = mergeElement(merged[at] as JsonObject, change, element.map);
  }
  return arranged(merged, changes, kept, mergeKey);
}

/** Executes the elements of the patch that contain a `$patch`; returns the rest, which is merged. */
function directed(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): { kept: readonly JsonObject[]; changes: readonly JsonObject[] } {
  const deleted = new Places([], mergeKey);
  let deletes = false;
  let replaced = false;
  const changes: JsonObject[] = [];
  for (const item of patch) {
    if (!Object.hasOwn(item, directive)) {
      changes.push(item);
      continue;
    }
    const operation = item[directive];
    if (operation === "delete") {
      deleted.add(item, 0);
      deletes = true;
    } else if (operation === "replace") {
      replaced = true;
    } else if (operation === "merge") {
      throw plainError("merging lists cannot yet be specified in the patch");
    } else {
      throw unknownDirective(operation, item);
    }
  }
  const kept = deletes
    ? original.filter((other) => !Object.hasOwn(other, mergeKey) || deleted.of(other) < 0)
    : original;
  return replaced ? { kept: changes, changes: [] } : { kept, changes };
}

/** Returns the common type of all elements; undefined for empty lists. Throws if the types differ. */
export function elementType(lists: readonly (readonly unknown[])[]): string | undefined {
  let type: string | undefined;
  for (const item of lists.flat()) {
    const own = jsonTypeOf(item);
    type ??= own;
    if (type === "array") {
      throw new StatusError({ ...unprocessable, message: "lists of lists are not supported" });
    }
    if (own !== type) throw plainError(`list element types are not identical: ${goText(lists)}`);
  }
  return type;
}

const unprocessable = { status: "Failure", reason: "Invalid", code: 422 } as const;
