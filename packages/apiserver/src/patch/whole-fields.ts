import { Nodes } from "./canonical-sets.ts";
import { type FieldSet, leaf } from "./field-set.ts";
import { isObject } from "./json.ts";
import { itemsByElement } from "./path-element.ts";
import { type TypeSchema, trackedType } from "./type-schema.ts";
import { asList, sortFor } from "./typed-walk.ts";

const fieldNodes = new Nodes("f:", true);
const itemNodes = new Nodes("", true);

/**
 * What a value that was not there before adds to a set, or one that is gone takes away: the value itself is owned, and so
 * is each part of it. Throws UnkeyedElementError.
 */
export function wholeFields(schema: TypeSchema, value: unknown): FieldSet {
  const sort = sortFor(schema, value);
  if (sort === "map" && !schema.map!.atomic && isObject(value)) {
    let step = fieldNodes.start;
    for (const key in value) {
      const part = value[key];
      const type = part === undefined ? undefined : trackedType(schema.map!, key);
      if (type !== undefined) step = fieldNodes.next(step, key, wholeFields(type, part));
    }
    return fieldNodes.setOf(step);
  }
  if (sort === "list" && schema.list!.relation !== "atomic") {
    let step = itemNodes.start;
    for (const [element, items] of itemsByElement(schema.list!, asList(value) ?? [])) {
      const below = items.length > 1 ? leaf : wholeFields(schema.list!.element, items[0]);
      step = itemNodes.next(step, element, below);
    }
    return itemNodes.setOf(step);
  }
  return leaf;
}
