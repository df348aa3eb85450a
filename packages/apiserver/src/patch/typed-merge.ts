import { emptyLike, isEmpty, isObject, jsonEqual, setField } from "../json/values.ts";
import { listElement, type PathElement } from "./path-element.ts";
import type { ListSchema, MapSchema, TypeSchema } from "./type-schema.ts";
import { asList, type ValueType, valueTypeFor } from "./typed-walk.ts";

/**
 * Merges an applied object into a live one: applied values win, the rest stays. Unchanged parts are shared
 * with the live object. Throws UnkeyedElementError.
 */
export function typedMerge(schema: TypeSchema, live: unknown, applied: unknown): unknown {
  if (live === applied || applied === undefined) return live;
  return mergeAs(valueTypeFor(schema, applied), schema, live, applied);
}

function mergeAs(valueType: ValueType, schema: TypeSchema, live: unknown, applied: unknown): unknown {
  if (valueType === "map") return mergeMaps(schema.map as MapSchema, live, applied);
  if (valueType === "list") return mergeLists(schema.list as ListSchema, live, applied);
  return appliedOrLive(live, applied);
}

function appliedOrLive(live: unknown, applied: unknown): unknown {
  return jsonEqual(live, applied) ? live : applied;
}

function mergeMaps(schema: MapSchema, live: unknown, applied: unknown): unknown {
  const left = isObject(live) && !isEmpty(live) ? live : undefined;
  const right = isObject(applied) && !isEmpty(applied) ? applied : undefined;
  if (schema.atomic || (left === undefined && right === undefined)) return appliedOrLive(live, applied);
  if (right === undefined) return live;
  const result = emptyLike(left ?? right);
  let changed = left === undefined;
  for (const key in left) {
    const merged = mergeField(schema, key, left[key], Object.hasOwn(right, key) ? right[key] : undefined);
    changed ||= merged !== left[key];
    if (merged !== undefined) setField(result, key, merged);
  }
  for (const key of Object.keys(right)) {
    if (left !== undefined && Object.hasOwn(left, key)) continue;
    changed = true;
    const merged = mergeField(schema, key, undefined, right[key]);
    if (merged !== undefined) setField(result, key, merged);
  }
  return changed ? result : live;
}

function mergeField(schema: MapSchema, key: string, live: unknown, applied: unknown): unknown {
  const type = schema.fields?.get(key)?.type ?? schema.element;
  return type === undefined ? (applied ?? live) : typedMerge(type, live, applied);
}

/**
 * Elements of both keep the order of the applied list; elements only in the live list keep their positions
 * between them.
 */
function mergeLists(schema: ListSchema, live: unknown, applied: unknown): unknown {
  const left = asList(live) ?? [];
  const right = asList(applied) ?? [];
  if (schema.relation === "atomic" || (left.length === 0 && right.length === 0))
    return appliedOrLive(live, applied);
  const leftElements = left.map((item) => listElement(schema, item));
  const rightElements = right.map((item) => listElement(schema, item));
  const leftItems = new Map<PathElement, unknown>();
  leftElements.forEach((element, i) => {
    // A duplicate in the live list is not merged with: it counts as null.
    leftItems.set(element, leftItems.has(element) ? null : left[i]);
  });
  const rightItems = new Map(rightElements.map((element, i) => [element, right[i]]));
  const shared = rightElements.filter((element) => leftItems.has(element));
  const merged = new Set<PathElement>();
  const result: unknown[] = [];
  const add = (item: unknown, change: unknown): void => {
    const value = typedMerge(schema.element, item, change);
    if (value !== undefined) result.push(value);
  };
  let nextShared = 0;
  for (let l = 0, r = 0; l < leftElements.length || r < rightElements.length; ) {
    const leftElement = leftElements[l];
    const rightElement = rightElements[r];
    if (leftElement !== undefined && rightElement !== undefined) {
      if (leftElement === rightElement) {
        merged.add(rightElement);
        add(leftItems.get(rightElement), rightItems.get(rightElement));
        l++;
        r++;
        nextShared++;
        continue;
      }
      if (rightItems.has(leftElement) && nextShared < shared.length && shared[nextShared] !== leftElement) {
        // Both have it, but it comes later in the applied order.
        l++;
        continue;
      }
    }
    if (leftElement !== undefined) {
      if (!rightItems.has(leftElement)) {
        add(left[l], undefined);
        l++;
        continue;
      }
      if (merged.has(leftElement)) l++;
    }
    if (rightElement !== undefined) {
      merged.add(rightElement);
      add(leftItems.get(rightElement), rightItems.get(rightElement));
      r++;
      if (shared[nextShared] === rightElement) nextShared++;
    }
  }
  const same = result.length === left.length && result.every((item, i) => item === left[i]);
  return same ? live : result;
}
