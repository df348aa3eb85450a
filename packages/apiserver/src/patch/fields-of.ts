import { isEmpty, isObject } from "../json/values.ts";
import { type FieldSet, type FieldSetBuilder, hasBelow, leaf, self, withSelfFirst } from "./field-set.ts";
import { listElement, type PathElement } from "./path-element.ts";
import type { TypeSchema } from "./type-schema.ts";
import { asList, valueTypeFor } from "./typed-walk.ts";

/** Returns the fields that an object sets. Throws UnkeyedElementError. */
export function fieldsOf(schema: TypeSchema, object: unknown): FieldSet {
  const set: FieldSetBuilder = {};
  collect(schema, object, set);
  return set;
}

/** Adds the fields below a value; returns whether the value itself is owned. */
function collect(schema: TypeSchema, value: unknown, node: FieldSetBuilder): boolean {
  const valueType = valueTypeFor(schema, value);
  if (valueType === "scalar") return true;
  if (valueType === "list") {
    const list = schema.list;
    if (list === undefined || list.relation === "atomic") return true;
    const seen = new Map<PathElement, number>();
    const elements = (asList(value) ?? []).map((item) => {
      const element = listElement(list, item);
      seen.set(element, (seen.get(element) ?? 0) + 1);
      return { element, item };
    });
    for (const { element, item } of elements) {
      const below: FieldSetBuilder = { [self]: leaf };
      // Duplicate elements are owned without their children.
      if (seen.get(element) === 1) collect(list.element, item, below);
      node[element] = hasBelow(below) ? below : leaf;
    }
    return false;
  }
  const map = schema.map;
  if (map === undefined || map.atomic) return true;
  if (!isObject(value)) return false;
  for (const key of Object.keys(value)) {
    const field = map.fields?.get(key);
    const type = field?.type ?? map.element;
    if (type === undefined || field?.untracked) continue;
    const item = value[key];
    const below: FieldSetBuilder = {};
    const owned = collect(type, item, below);
    const isMember = field === undefined || item === null || (isObject(item) && isEmpty(item));
    attach(node, `f:${key}`, below, owned || isMember);
  }
  return false;
}

/** `owned`: the element is a member even if it has children. */
function attach(node: FieldSetBuilder, element: PathElement, below: FieldSetBuilder, owned: boolean): void {
  if (!isEmpty(below)) node[element] = owned ? withSelfFirst(below) : below;
  else if (owned) node[element] = leaf;
}
