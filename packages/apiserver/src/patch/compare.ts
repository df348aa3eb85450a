import {
  emptySet,
  type FieldSet,
  type FieldSetBuilder,
  insertPath,
  recursiveDifference,
} from "./field-set.ts";
import { isObject, type JsonObject, jsonEqual } from "./json.ts";
import { listElement, type PathElement } from "./path-element.ts";
import type { ListSchema, MapSchema, TypeSchema } from "./type-schema.ts";
import { asList, type Sort, sortFor } from "./typed-walk.ts";

/** How two objects of one type differ, field by field. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

/**
 * Compares two objects. Parts that are the same object are not looked into.
 * Throws UnkeyedElementError where elements of a list cannot be told apart.
 */
export function compare(schema: TypeSchema, before: unknown, after: unknown): Comparison {
  const walk = new CompareWalk();
  walk.compare(schema, before, after);
  return walk;
}

/** True where nothing differs. */
export function isSame(comparison: Comparison): boolean {
  return comparison.removed === emptySet && comparison.modified === emptySet && comparison.added === emptySet;
}

/** The comparison without some fields and all below them. */
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
  // Shared until something differs: most parts of most objects do not.
  removed: FieldSet = emptySet;
  modified: FieldSet = emptySet;
  added: FieldSet = emptySet;
  readonly #path: PathElement[] = [];

  #note(outcome: Outcome, element?: PathElement): void {
    if (this[outcome] === emptySet) this[outcome] = {};
    if (element !== undefined) this.#path.push(element);
    insertPath(this[outcome] as FieldSetBuilder, this.#path, this.#path.length);
    if (element !== undefined) this.#path.pop();
  }

  compare(schema: TypeSchema, before: unknown, after: unknown): void {
    if (before === after) return;
    let isLeaf: boolean;
    if (after === undefined) {
      isLeaf = this.#bySort(sortFor(schema, before), schema, before, after);
    } else {
      const sort = sortFor(schema, after);
      if (before !== undefined && before !== null) {
        const other = sortFor(schema, before);
        if (other !== sort) this.#bySort(other, schema, before, after);
      }
      isLeaf = this.#bySort(sort, schema, before, after);
    }
    if (isLeaf || this.#path.length === 0) return;
    if (before === undefined) this.#note("added");
    else if (after === undefined) this.#note("removed");
  }

  /** Returns whether the value is owned as a whole. */
  #bySort(sort: Sort, schema: TypeSchema, before: unknown, after: unknown): boolean {
    if (sort === "map") return this.#map(schema.map as MapSchema, before, after);
    if (sort === "list") return this.#list(schema.list as ListSchema, before, after);
    return this.#leaf(before, after);
  }

  #leaf(before: unknown, after: unknown): true {
    if (before === undefined) this.#note("added");
    else if (after === undefined) this.#note("removed");
    else if (!jsonEqual(before, after)) this.#note("modified");
    return true;
  }

  #map(schema: MapSchema, before: unknown, after: unknown): boolean {
    const left = isObject(before) ? before : undefined;
    const right = isObject(after) ? after : undefined;
    // Nothing on either side: a leaf, which keeps empty and null apart.
    if (schema.atomic || (isBare(left) && isBare(right))) return this.#leaf(before, after);
    for (const key in left) this.#field(schema, key, left[key], own(right, key));
    for (const key in right) {
      if (left === undefined || !Object.hasOwn(left, key)) this.#field(schema, key, undefined, right[key]);
    }
    return false;
  }

  #field(schema: MapSchema, key: string, before: unknown, after: unknown): void {
    if (before === after) return;
    const field = schema.fields?.get(key);
    if (field?.untracked) return;
    const type = field?.type ?? schema.element;
    // A field that is not declared was written under another schema: nobody owns it.
    if (type === undefined) return;
    this.#path.push(`f:${key}`);
    this.compare(type, before, after);
    this.#path.pop();
  }

  #list(schema: ListSchema, before: unknown, after: unknown): boolean {
    const left = asList(before) ?? [];
    const right = asList(after) ?? [];
    if (schema.relation === "atomic" || (left.length === 0 && right.length === 0))
      return this.#leaf(before, after);
    const leftItems = byElement(schema, left);
    const rightItems = byElement(schema, right);
    for (const [element, items] of leftItems)
      this.#items(schema, element, items, rightItems.get(element) ?? []);
    for (const [element, items] of rightItems) {
      if (!leftItems.has(element)) this.#items(schema, element, [], items);
    }
    return false;
  }

  /** Elements that occur more than once are owned as a whole, by their path alone. */
  #items(
    schema: ListSchema,
    element: PathElement,
    left: readonly unknown[],
    right: readonly unknown[],
  ): void {
    if (left.length > 1 && right.length > 1) {
      if (!jsonEqual(left, right)) this.#note("modified", element);
      return;
    }
    const before = left.length > 1 ? undefined : left[0];
    const after = right.length > 1 ? undefined : right[0];
    if (before !== undefined || after !== undefined) {
      this.#path.push(element);
      this.compare(schema.element, before, after);
      this.#path.pop();
    }
    if (left.length > 1) this.#note("removed", element);
    else if (right.length > 1) this.#note("added", element);
  }
}

function own(object: JsonObject | undefined, key: string): unknown {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

function isBare(object: JsonObject | undefined): boolean {
  for (const _ in object) return false;
  return true;
}

function byElement(schema: ListSchema, list: readonly unknown[]): Map<PathElement, unknown[]> {
  const items = new Map<PathElement, unknown[]>();
  for (const item of list) {
    const element = listElement(schema, item);
    const known = items.get(element);
    if (known === undefined) items.set(element, [item]);
    else known.push(item);
  }
  return items;
}
