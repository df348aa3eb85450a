import { quoted, StatusError } from "@dray/api";
import { goType } from "../json/go-text.ts";
import {
  copyOf,
  emptyLike,
  fieldOf,
  isNumeric,
  isObject,
  type JsonObject,
  type MutableObject,
  setField,
} from "../json/values.ts";
import { plainError } from "./errors.ts";
import type { ObjectType } from "./object-type.ts";
import { deleteFrom, directive, elementOrder, retainKeys, unknownDirective } from "./strategic-directives.ts";
import { elementType, jsonTypeOf, mergeList } from "./strategic-lists.ts";
import { arranged, checkOrder, orderLeftBehind, Places } from "./strategic-order.ts";
import type { FieldSchema, MapSchema } from "./type-schema.ts";

const badPrimitiveList = "invalid patch format of primitive list";
const badRetainKeys = "invalid patch format of retainKeys";
const badElementOrder = "invalid patch format of setElementOrder list";

/**
 * Maximum number of keys and elements that a merge may look at. A patch that changes each element once looks
 * at those of the object and of the patch, which are limited (`maxBodyValues`); one that changes the same
 * element again and again looks at all that it has grown to each time.
 */
const maxWork = 250_000;

/**
 * Applies a strategic merge patch: like a merge patch, but lists marked `merge` are merged by their merge key
 * or as sets, with the directives `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/f`,
 * `$setElementOrder/f`. Nulls that remain in added values mean "unset".
 *
 * Errors: 400 for malformed directives, 413 for too many changes of the same elements, 422 for lists of
 * lists, 500 without reason for others (an element without its merge key, an unknown `$patch`), as the API
 * server.
 */
export function strategicMergePatch(object: JsonObject, patch: unknown, type: ObjectType): JsonObject {
  if (patch === null) return object;
  if (!isObject(patch)) {
    const type = Array.isArray(patch) ? "array" : isNumeric(patch) ? "number" : goType(patch);
    throw badRequest(`json: cannot unmarshal ${type} into Go value of type map[string]interface {}`);
  }
  return new Merge().map(object, patch, type.schema.map);
}

function badRequest(message: string): StatusError {
  return StatusError.of("BadRequest", message);
}

/** One merge, which counts its work. */
class Merge {
  /** Keys and elements that have been looked at. */
  #work = 0;

  /** Merges a map. Bound, so that lists can merge their elements by it. */
  map = (original: JsonObject, patch: JsonObject, schema: MapSchema | undefined): JsonObject => {
    if (Object.hasOwn(patch, directive)) return replaceMap(patch);
    this.#spend(Object.keys(original).length);
    const result = retained(original, patch);
    const done = new Set([retainKeys]);
    for (const key of Object.keys(patch)) {
      if (!key.startsWith(elementOrder)) continue;
      done.add(key);
      const name = this.#ordered(result, patch, key, schema);
      if (name !== undefined) done.add(name);
    }
    // Deletions first: elements that the same patch adds to the list stay.
    for (const key of Object.keys(patch)) {
      if (key.startsWith(deleteFrom) && !done.has(key)) this.#deleteFrom(result, key, patch[key], schema);
    }
    for (const key of Object.keys(patch)) {
      if (done.has(key) || key.startsWith(elementOrder) || key.startsWith(deleteFrom)) continue;
      this.#field(result, key, patch[key], schema);
    }
    return result;
  };

  #field(result: MutableObject, key: string, change: unknown, schema: MapSchema | undefined): void {
    if (change === null) {
      delete result[key];
      return;
    }
    const current = fieldOf(result, key);
    if (isObject(current) && isObject(change)) {
      const field = lookUp(schema, key);
      const merged = strategyOf(field) === "replace" ? change : this.map(current, change, field.type.map);
      setField(result, key, merged);
    } else if (Array.isArray(current) && Array.isArray(change)) {
      const field = lookUp(schema, key);
      setField(result, key, strategyOf(field) === "merge" ? this.#list(current, change, field) : change);
    } else {
      // There is nothing to merge with: nulls in the added value are unset fields.
      const added = withoutDirectives(
        current !== undefined && jsonTypeOf(current) === jsonTypeOf(change) ? change : pruned(change),
      );
      if (added === undefined) delete result[key];
      else setField(result, key, added);
    }
  }

  #deleteFrom(result: MutableObject, key: string, change: unknown, schema: MapSchema | undefined): void {
    const name = directiveField(key, deleteFrom, badPrimitiveList);
    if (change === null) {
      delete result[name];
      return;
    }
    const current = fieldOf(result, name);
    if (!Array.isArray(current) || !Array.isArray(change)) return;
    const field = lookUp(schema, name);
    if (current.length === 0 && change.length === 0) return;
    if (elementType([current, change]) === "object")
      setField(result, name, this.#list(current, change, field));
    else {
      const gone = new Places(change, "");
      setField(
        result,
        name,
        current.filter((item) => gone.of(item) < 0),
      );
    }
  }

  /** Merges a list together with its `$setElementOrder`. Returns its name; undefined without such a list. */
  #ordered(
    result: MutableObject,
    patch: JsonObject,
    key: string,
    schema: MapSchema | undefined,
  ): string | undefined {
    const order = patch[key];
    if (!Array.isArray(order)) throw plainError(`expected a []interface {}, but received a ${goType(order)}`);
    const name = directiveField(key, elementOrder, badElementOrder);
    const current = listField(result, name);
    const change = listField(patch, name);
    const field = lookUp(schema, name);
    if (field.type.list === undefined) throw plainError("expected slice or array type, but got: struct");
    const mergeKey = field.patchMergeKey ?? "";
    checkOrder(change ?? [], order, mergeKey);
    if (current === undefined && change === undefined) return undefined;
    let merged: readonly unknown[];
    let live = current ?? [];
    if (change === undefined) merged = live;
    else if (current === undefined) merged = withoutDirectives(change) as unknown[];
    else if (strategyOf(field) !== "merge") merged = change;
    else {
      merged = this.#list(current, change, field);
      live = orderLeftBehind(current, change, mergeKey);
    }
    const type = elementType([current ?? [], change ?? []]);
    if (type === undefined) throw plainError("no elements in any of the given slices");
    setField(result, name, arranged(merged, order, live, type === "object" ? mergeKey : ""));
    return name;
  }

  #list(original: readonly unknown[], patch: readonly unknown[], field: FieldSchema): readonly unknown[] {
    this.#spend(original.length + patch.length);
    return mergeList(original, patch, field, this.map);
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work <= maxWork) return;
    throw StatusError.of(
      "RequestEntityTooLarge",
      `the patch changes the same elements of lists too often: merging it looks at more than ${maxWork} keys and elements; send one change of each element`,
    );
  }
}

/** A map with `$patch`: `replace` returns the patch itself, `delete` an empty map. */
function replaceMap(patch: JsonObject): JsonObject {
  const operation = patch[directive];
  if (operation === "delete") return emptyLike(patch);
  if (operation !== "replace") throw unknownDirective(operation, patch);
  const copy = copyOf(patch);
  delete copy[directive];
  return copy;
}

/** Returns a copy of the original, without the fields that `$retainKeys` does not list. */
function retained(original: JsonObject, patch: JsonObject): MutableObject {
  const keep = fieldOf(patch, retainKeys);
  if (keep === undefined) return copyOf(original);
  if (!Array.isArray(keep)) throw badRequest(badRetainKeys);
  const kept = new Set<unknown>(keep);
  for (const [key, value] of Object.entries(patch)) {
    if (key === retainKeys || value === null || key.startsWith(deleteFrom) || key.startsWith(elementOrder))
      continue;
    if (!kept.has(key)) throw badRequest(badRetainKeys);
  }
  const result = emptyLike(original);
  for (const key of Object.keys(original)) if (kept.has(key)) setField(result, key, original[key]);
  return result;
}

/**
 * Returns the field of a struct. Throws if the value is merged but its type is not a struct or lacks the
 * field.
 */
function lookUp(schema: MapSchema | undefined, key: string): FieldSchema {
  if (schema?.fields === undefined) {
    throw plainError("merging an object in json but data type is not struct, instead is: map");
  }
  const field = schema.fields.get(key);
  if (field !== undefined) return field;
  throw plainError(
    `unable to find api field in struct ${schema.name ?? ""} for the json field ${quoted(key)}`,
  );
}

function strategyOf(field: FieldSchema): string | undefined {
  return field.patchStrategy?.find((strategy) => strategy !== retainKeys.slice(1));
}

/** Removes nulls at any depth of objects and lists. */
function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned);
  if (!isObject(value)) return value;
  const result = emptyLike(value);
  for (const key of Object.keys(value)) {
    if (value[key] !== null) setField(result, key, pruned(value[key]));
  }
  return result;
}

/** Removes maps that contain a `$patch`; undefined for such a map itself. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, directive)) return undefined;
  const result = emptyLike(value);
  for (const key of Object.keys(value)) {
    const kept = withoutDirectives(value[key]);
    if (kept !== undefined) setField(result, key, kept);
  }
  return result;
}

/** Returns the field to which a directive such as `$setElementOrder/containers` applies. */
function directiveField(key: string, prefix: string, problem: string): string {
  if (!key.startsWith(`${prefix}/`)) throw badRequest(problem);
  return key.slice(prefix.length + 1);
}

function listField(object: JsonObject, name: string): readonly unknown[] | undefined {
  const value = fieldOf(object, name);
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw plainError(`expected a []interface {}, but received a ${goType(value)}`);
  return value;
}
