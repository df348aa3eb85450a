import { isObject } from "../json/values.ts";
import { NodeCache } from "./canonical-sets.ts";
import { type FieldSet, leaf } from "./field-set.ts";
import { itemsByElement } from "./path-element.ts";
import { type TypeSchema, trackedType } from "./type-schema.ts";
import { asList, valueTypeFor } from "./typed-walk.ts";

const fieldNodes = new NodeCache("f:", true);
const itemNodes = new NodeCache("", true);

/**
 * Returns the fields of a value that was added or removed: the value itself is owned, and each part of it.
 * Throws UnkeyedElementError.
 */
export function wholeFields(schema: TypeSchema, value: unknown): FieldSet {
  const valueType = valueTypeFor(schema, value);
  const names: string[] = [];
  const below: FieldSet[] = [];
  const { map, list } = schema;
  if (valueType === "map" && map?.atomic === false && isObject(value)) {
    for (const key in value) {
      const part = value[key];
      const type = part === undefined ? undefined : trackedType(map, key);
      if (type === undefined) continue;
      names.push(key);
      below.push(wholeFields(type, part));
    }
    return fieldNodes.of(names, below);
  }
  if (valueType === "list" && list !== undefined && list.relation !== "atomic") {
    for (const [element, items] of itemsByElement(list, asList(value) ?? [])) {
      names.push(element);
      below.push(items.length > 1 ? leaf : wholeFields(list.element, items[0]));
    }
    return itemNodes.of(names, below);
  }
  return leaf;
}
