import { emptyLike, isEmpty, isObject, setField } from "../json/values.ts";
import { below, type FieldSet, hasElement } from "./field-set.ts";
import { listElement } from "./path-element.ts";
import type { TypeSchema } from "./type-schema.ts";
import { valueTypeFor } from "./typed-walk.ts";

/**
 * Returns the object without these fields. A list or map that loses its last element becomes null, which
 * means unset. Unchanged parts are shared with the object.
 */
export function removeFields(schema: TypeSchema, object: unknown, fields: FieldSet): unknown {
  const valueType = valueTypeFor(schema, object);
  if (valueType === "scalar") return object;
  if (valueType === "list") {
    const list = schema.list;
    if (!Array.isArray(object) || list === undefined || object.length === 0 || list.relation === "atomic")
      return null;
    let changed = false;
    const kept: unknown[] = [];
    for (const item of object) {
      const element = listElement(list, item);
      if (hasElement(fields, element)) {
        changed = true;
        continue;
      }
      const inner = below(fields, element);
      const value = inner === undefined ? item : removeFields(list.element, item, inner);
      changed ||= value !== item;
      kept.push(value);
    }
    if (kept.length === 0) return null;
    return changed ? kept : object;
  }
  const map = schema.map;
  if (!isObject(object) || map === undefined || isEmpty(object) || map.atomic) return null;
  let changed = false;
  const kept = emptyLike(object);
  for (const key of Object.keys(object)) {
    const element = `f:${key}`;
    if (hasElement(fields, element)) {
      changed = true;
      continue;
    }
    const inner = below(fields, element);
    const type = map.fields?.get(key)?.type ?? map.element;
    const value =
      inner === undefined || type === undefined ? object[key] : removeFields(type, object[key], inner);
    changed ||= value !== object[key];
    setField(kept, key, value);
  }
  if (isEmpty(kept)) return null;
  return changed ? kept : object;
}
