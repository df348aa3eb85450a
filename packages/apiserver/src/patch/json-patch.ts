import { StatusError } from "@dray/api";
import { encodeJSON } from "@dray/api/codec";
import { goJsonType } from "../json/go-text.ts";
import {
  copyOf,
  emptyLike,
  fieldOf,
  isObject,
  type JsonObject,
  jsonEqual,
  type MutableObject,
  setField,
} from "../json/values.ts";
import { rejected } from "./errors.ts";
import { LongList } from "./long-list.ts";

const maxOperations = 10_000;
/**
 * Maximum bytes of JSON that all `copy` operations of a patch may add (JSONPatchMaxCopyBytes of the API
 * server).
 */
const maxCopiedBytes = 3 * 1024 * 1024;
const members = new Set(["op", "path", "from", "value"]);

/**
 * Applies a JSON patch (RFC 6902) and returns the new object; a failed operation changes nothing.
 * `operations` is the decoded body.
 *
 * Differs from the RFC like the API server's library: `replace` of a missing member of an object adds it,
 * `test` of a missing member against null succeeds, negative indices count from the end, the whole document
 * can only be tested and replaced.
 *
 * Errors: 400 if the body is not a list of operations, 413 for more than 10000, 422 if one does not apply or
 * if they copy too much.
 */
export function jsonPatch(object: JsonObject, operations: unknown): JsonObject {
  const patch = new JsonPatch(object, operations);
  while (patch.applyNext());
  return patch.result();
}

/** A JSON patch that is applied one operation at a time, as `jsonPatch`. */
export class JsonPatch {
  readonly #draft: Draft;
  readonly #operations: readonly JsonObject[];
  #applied = 0;

  /** Throws as `jsonPatch` for a malformed body. */
  constructor(object: JsonObject, operations: unknown, limit = maxOperations) {
    this.#operations = operationsOf(operations, limit);
    this.#draft = new Draft(object);
  }

  /** The number of operations that have been applied. */
  get applied(): number {
    return this.#applied;
  }

  /** Applies the next operation; returns false if none is left. Throws if it does not apply. */
  applyNext(): boolean {
    const operation = this.#operations[this.#applied];
    if (operation === undefined) return false;
    this.#draft.apply(operation);
    this.#applied++;
    return true;
  }

  /** Returns the new object. Nothing may be applied afterwards. */
  result(): JsonObject {
    const root = this.#draft.finished();
    if (!isObject(root)) throw rejected();
    return root;
  }
}

/** Returns warnings for unknown members of operations: `json patch unknown field "[0].nosuch"`. */
export function jsonPatchWarnings(operations: unknown): string[] {
  const warnings: string[] = [];
  operationsOf(operations).forEach((operation, i) => {
    for (const key of Object.keys(operation)) {
      if (!members.has(key)) warnings.push(`json patch unknown field "[${i}].${key}"`);
    }
  });
  return warnings;
}

function operationsOf(body: unknown, limit = maxOperations): readonly JsonObject[] {
  if (body === null) return [];
  if (!Array.isArray(body)) throw undecodable(body, "[]handlers.jsonPatchOp");
  for (const operation of body) {
    if (operation !== null && !isObject(operation)) throw undecodable(operation, "handlers.jsonPatchOp");
    for (const key of ["op", "path", "from"]) {
      const value = isObject(operation) ? fieldOf(operation, key) : undefined;
      if (value !== undefined && value !== null && typeof value !== "string") {
        throw badRequest(
          `json: cannot unmarshal ${goJsonType(value)} into Go struct field jsonPatchOp.${key} of type string`,
        );
      }
    }
  }
  if (body.length > limit) {
    throw StatusError.of(
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${limit}, got ${body.length}`,
    );
  }
  return body.map((operation) => operation ?? {});
}

function undecodable(value: unknown, type: string): StatusError {
  return badRequest(`json: cannot unmarshal ${goJsonType(value)} into Go value of type ${type}`);
}

function badRequest(text: string): StatusError {
  return StatusError.of("BadRequest", `error decoding patch: ${text}`);
}

type Container = MutableObject | unknown[] | LongList;

/** The document after the operations so far. The original is not modified. */
class Draft {
  #root: unknown;
  /**
   * Private copies: each list or object is copied once, however many operations change it. Other values
   * contain no private copies.
   */
  readonly #own = new WeakSet<object>();
  #hasLongLists = false;
  #copied = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  apply(operation: JsonObject): void {
    const op = fieldOf(operation, "op");
    // An omitted value counts as null.
    const value = fieldOf(operation, "value") ?? null;
    if (fieldOf(operation, "path") === "" && (op === "replace" || op === "test")) this.#whole(op, value);
    else this.#part(op, pointer(fieldOf(operation, "path")), value, operation);
  }

  /** Returns the document, with arrays for long lists. */
  finished(): unknown {
    if (this.#hasLongLists) this.#root = this.#withArrays(this.#root);
    return this.#root;
  }

  #whole(op: "replace" | "test", value: unknown): void {
    if (op === "replace" && (isObject(value) || Array.isArray(value))) this.#root = value;
    else if (op !== "test" || !this.#equal(this.#root, value)) throw rejected();
  }

  #part(op: unknown, path: Path, value: unknown, operation: JsonObject): void {
    switch (op) {
      case "add":
        insert(this.#parent(path), path, value);
        break;
      case "replace":
        replace(this.#parent(path), path, value);
        break;
      case "remove":
        remove(this.#parent(path), path);
        break;
      case "move": {
        const from = pointer(fieldOf(operation, "from"));
        const moved = read(this.#root, from) ?? null;
        remove(this.#parent(from), from);
        insert(this.#parent(path), path, moved);
        break;
      }
      case "copy": {
        const copied = this.#copy(read(this.#root, pointer(fieldOf(operation, "from"))) ?? null);
        insert(this.#parent(path), path, copied);
        break;
      }
      case "test":
        if (!this.#equal(read(this.#root, path) ?? null, value)) throw rejected();
        break;
      default:
        throw rejected();
    }
  }

  /** Returns the private copy of the list or object that contains the end of a path. */
  #parent(path: Path): Container {
    let container = this.#owned(this.#root);
    this.#root = container;
    for (const key of path.slice(0, -1)) {
      const child: Container = this.#owned(childOf(container, key));
      replaceChild(container, key, child);
      container = child;
    }
    return container;
  }

  #owned(value: unknown): Container {
    if (typeof value !== "object" || value === null) throw rejected();
    if (this.#own.has(value)) return value as Container;
    const copy = Array.isArray(value) ? LongList.of(value) : copyOf(value as JsonObject);
    if (copy instanceof LongList) this.#hasLongLists = true;
    this.#own.add(copy);
    return copy;
  }

  #copy(value: unknown): unknown {
    if (value === null) return null;
    const copy = this.#detached(value);
    this.#copied += Buffer.byteLength(encodeJSON(copy));
    if (this.#copied > maxCopiedBytes) throw rejected();
    return copy;
  }

  /** Returns a copy of the value, which later operations must not change in place. */
  #detached(value: unknown): unknown {
    if (typeof value !== "object" || value === null || !this.#own.has(value)) return value;
    if (isList(value)) return Array.from(value, (item) => this.#detached(item));
    const copy = emptyLike(value as JsonObject);
    for (const [key, item] of Object.entries(value)) setField(copy, key, this.#detached(item));
    return copy;
  }

  #withArrays(value: unknown): unknown {
    if (typeof value !== "object" || value === null || !this.#own.has(value)) return value;
    if (isList(value)) return Array.from(value, (item) => this.#withArrays(item));
    for (const [key, item] of Object.entries(value)) {
      const changed = this.#withArrays(item);
      if (changed !== item) setField(value as MutableObject, key, changed);
    }
    return value;
  }

  /** Compares a part of the document with a value of an operation. */
  #equal(part: unknown, value: unknown): boolean {
    if (typeof part !== "object" || part === null || !this.#own.has(part)) return jsonEqual(part, value);
    if (isList(part)) {
      if (!Array.isArray(value) || value.length !== part.length) return false;
      let index = 0;
      for (const item of part) if (!this.#equal(item, value[index++])) return false;
      return true;
    }
    if (!isObject(value)) return false;
    let fields = 0;
    for (const key in part) {
      if (!Object.hasOwn(value, key) || !this.#equal((part as JsonObject)[key], value[key])) return false;
      fields++;
    }
    for (const _ in value) fields--;
    return fields === 0;
  }
}

const isList = (value: unknown): value is readonly unknown[] | LongList =>
  Array.isArray(value) || value instanceof LongList;

/** The segments of a JSON pointer; upstream's library ignores everything before the first slash. */
type Path = readonly [string, ...string[]];

function pointer(path: unknown): Path {
  if (typeof path !== "string" || !path.includes("/")) throw rejected();
  const [, first = "", ...rest] = path.split("/").map(unescaped);
  return [first, ...rest];
}

const unescaped = (segment: string): string =>
  segment.includes("~") ? segment.replaceAll("~1", "/").replaceAll("~0", "~") : segment;

function childOf(container: unknown, key: string): unknown {
  if (isList(container)) return container.at(indexOf(container, key));
  if (isObject(container)) return fieldOf(container, key);
  throw rejected();
}

function replaceChild(container: Container, key: string, value: unknown): void {
  if (!isList(container)) setField(container, key, value);
  else if (Array.isArray(container)) container[indexOf(container, key)] = value;
  else container.set(indexOf(container, key), value);
}

function read(document: unknown, path: Path): unknown {
  let value = document;
  path.forEach((key, i) => {
    value = childOf(value, key);
    if ((value === undefined || value === null) && i < path.length - 1) throw rejected();
  });
  return value;
}

// A path has at least one segment.
const last = (path: Path): string => path.at(-1)!;

function insert(parent: Container, path: Path, value: unknown): void {
  const key = last(path);
  if (!isList(parent)) {
    setField(parent, key, value);
    return;
  }
  const length = parent.length + 1;
  const index = key === "-" ? parent.length : integer(key);
  if (index >= length || index < -length) throw rejected();
  const place = index < 0 ? index + length : index;
  if (Array.isArray(parent)) parent.splice(place, 0, value);
  else parent.insert(place, value);
}

function replace(parent: Container, path: Path, value: unknown): void {
  replaceChild(parent, last(path), value);
}

function remove(parent: Container, path: Path): void {
  const key = last(path);
  if (Array.isArray(parent)) parent.splice(indexOf(parent, key), 1);
  else if (parent instanceof LongList) parent.remove(indexOf(parent, key));
  else {
    if (!Object.hasOwn(parent, key)) throw rejected();
    delete parent[key];
  }
}

function indexOf(list: { readonly length: number }, key: string): number {
  const index = integer(key);
  if (index >= list.length || index < -list.length) throw rejected();
  return index < 0 ? index + list.length : index;
}

function integer(text: string): number {
  if (!/^[+-]?\d{1,15}$/.test(text)) throw rejected();
  return Number(text);
}
