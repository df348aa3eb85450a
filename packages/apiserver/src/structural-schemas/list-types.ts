import { canonicalJSON } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";
import {
  additionalOf,
  isContainer,
  isPlain,
  itemsOf,
  type Plain,
  propertyOf,
  type Schema,
} from "./schema.ts";

/** Validates that lists of type `set` have no duplicate items, and lists of type `map` no duplicate keys. */
export function checkListTypes(errors: FieldErrors, schema: Schema | undefined, object: Plain): void {
  if (schema === undefined) return;
  const additional = additionalOf(schema);
  if (additional !== undefined) {
    for (const key in object) {
      const value = object[key];
      if (isContainer(value)) checkValue(errors.key(key), additional, value);
    }
  }
  if (schema.properties === undefined) return;
  for (const key in object) {
    const property = propertyOf(schema, key);
    if (property !== undefined) checkValue(errors.at(key), property, object[key]);
  }
}

function checkValue(errors: FieldErrors, schema: Schema, value: unknown): void {
  if (Array.isArray(value)) checkList(errors, schema, value);
  else if (isPlain(value)) checkListTypes(errors, schema, value);
}

function checkList(errors: FieldErrors, schema: Schema, list: readonly unknown[]): void {
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      for (const index of repeated(list)) errors.index(index).duplicate(list[index]);
      break;
    case "map":
      checkMap(errors, schema["x-kubernetes-list-map-keys"] ?? [], list);
      break;
    default:
  }
  const items = itemsOf(schema);
  if (items === undefined) return;
  list.forEach((item, index) => {
    if (isContainer(item)) checkValue(errors.index(index), items, item);
  });
}

function checkMap(errors: FieldErrors, keys: readonly string[], list: readonly unknown[]): void {
  const wrong = list.findIndex((item) => item !== null && !isPlain(item));
  if (wrong >= 0) {
    errors.index(wrong).invalid(list[wrong], "must be an object for an array of list-type map");
    return;
  }
  const found = list.map((item) =>
    Object.fromEntries(
      keys.flatMap((key) => (isPlain(item) && Object.hasOwn(item, key) ? [[key, item[key]]] : [])),
    ),
  );
  for (const index of repeated(found)) errors.index(index).duplicate(found[index]);
}

/** Returns the indices of duplicates. */
function repeated(list: readonly unknown[]): number[] {
  const seen = new Map<string, number>();
  const second: number[] = [];
  list.forEach((value, index) => {
    const text = typeof value === "string" ? `"${value}` : canonicalJSON(value);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    if (times === 2) second.push(index);
  });
  return second;
}
