import { isObject, type JsonObject, jsonEqual } from "../json/values.ts";
import {
  emptySet,
  type FieldSet,
  type FieldSetBuilder,
  insertPath,
  leaf,
  recursiveDifference,
} from "./field-set.ts";
import { itemsByElement, type PathElement } from "./path-element.ts";
import { type ListSchema, type MapSchema, type TypeSchema, trackedType } from "./type-schema.ts";
import { asList, type ValueType, valueTypeFor } from "./typed-walk.ts";
import { wholeFields } from "./whole-fields.ts";

/** The difference of two objects of one type, by field. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

/**
 * Compares two objects. Identical (===) parts are skipped. Throws UnkeyedElementError if list elements cannot
 * be identified.
 */
export function compare(schema: TypeSchema, before: unknown, after: unknown): Comparison {
  const walk = new CompareWalk();
  walk.compare(schema, before, after);
  return walk;
}

/** Returns true if nothing differs. */
export function isSame(comparison: Comparison): boolean {
  return comparison.removed === emptySet && comparison.modified === emptySet && comparison.added === emptySet;
}

/** Returns the comparison without some fields and their descendants. */
export function excluding(comparison: Comparison, ignored: FieldSet): Comparison {
  if (isSame(comparison)) return comparison;
  return {
    removed: recursiveDifference(comparison.removed, ignored),
    modified: recursiveDifference(comparison.modified, ignored),
    added: recursiveDifference(comparison.added, ignored),
  };
}

type Outcome = "removed" | "modified" | "added";

class CompareWalk implements Comparison {
  // Shared until something differs: most parts of most objects are equal.
  removed: FieldSet = emptySet;
  modified: FieldSet = emptySet;
  added: FieldSet = emptySet;
  readonly #path: PathElement[] = [];

  #note(outcome: Outcome, node: FieldSet, element?: PathElement): void {
    if (this[outcome] === emptySet) this[outcome] = {};
    if (element !== undefined) this.#path.push(element);
    insertPath(this[outcome] as FieldSetBuilder, this.#path, node);
    if (element !== undefined) this.#path.pop();
  }

  compare(schema: TypeSchema, before: unknown, after: unknown): void {
    if (before === after) return;
    if (before === undefined) this.#note("added", wholeFields(schema, after));
    else if (after === undefined) this.#note("removed", wholeFields(schema, before));
    else this.#both(schema, before, after);
  }

  #both(schema: TypeSchema, before: unknown, after: unknown): void {
    const valueType = valueTypeFor(schema, after);
    if (before !== null) {
      const other = valueTypeFor(schema, before);
      if (other !== valueType) this.#byValueType(other, schema, before, after);
    }
    this.#byValueType(valueType, schema, before, after);
  }

  #byValueType(valueType: ValueType, schema: TypeSchema, before: unknown, after: unknown): void {
    if (valueType === "map") this.#map(schema.map as MapSchema, before, after);
    else if (valueType === "list") this.#list(schema.list as ListSchema, before, after);
    else this.#leaf(before, after);
  }

  #leaf(before: unknown, after: unknown): void {
    if (!jsonEqual(before, after)) this.#note("modified", leaf);
  }

  #map(schema: MapSchema, before: unknown, after: unknown): void {
    const left = isObject(before) ? before : undefined;
    const right = isObject(after) ? after : undefined;
    // Empty on both sides: a leaf, which distinguishes empty and null.
    if (schema.atomic || (isBare(left) && isBare(right))) {
      this.#leaf(before, after);
      return;
    }
    for (const key in left) this.#field(schema, key, left[key], own(right, key));
    for (const key in right) {
      if (left === undefined || !Object.hasOwn(left, key)) this.#field(schema, key, undefined, right[key]);
    }
  }

  #field(schema: MapSchema, key: string, before: unknown, after: unknown): void {
    if (before === after) return;
    const type = trackedType(schema, key);
    if (type === undefined) return;
    this.#path.push(`f:${key}`);
    this.compare(type, before, after);
    this.#path.pop();
  }

  #list(schema: ListSchema, before: unknown, after: unknown): void {
    const left = asList(before) ?? [];
    const right = asList(after) ?? [];
    if (schema.relation === "atomic" || (left.length === 0 && right.length === 0)) {
      this.#leaf(before, after);
      return;
    }
    const leftItems = itemsByElement(schema, left);
    const rightItems = itemsByElement(schema, right);
    for (const [element, items] of leftItems)
      this.#items(schema, element, items, rightItems.get(element) ?? []);
    for (const [element, items] of rightItems) {
      if (!leftItems.has(element)) this.#items(schema, element, [], items);
    }
  }

  /** Elements that occur more than once are owned as a whole, by their path. */
  #items(
    schema: ListSchema,
    element: PathElement,
    left: readonly unknown[],
    right: readonly unknown[],
  ): void {
    if (left.length > 1 && right.length > 1) {
      if (!jsonEqual(left, right)) this.#note("modified", leaf, element);
      return;
    }
    const before = left.length > 1 ? undefined : left[0];
    const after = right.length > 1 ? undefined : right[0];
    if (before !== undefined || after !== undefined) {
      this.#path.push(element);
      this.compare(schema.element, before, after);
      this.#path.pop();
    }
    if (left.length > 1) this.#note("removed", leaf, element);
    else if (right.length > 1) this.#note("added", leaf, element);
  }
}

function own(object: JsonObject | undefined, key: string): unknown {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

function isBare(object: JsonObject | undefined): boolean {
  for (const _ in object) return false;
  return true;
}
