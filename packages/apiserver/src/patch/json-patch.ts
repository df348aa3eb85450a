import { StatusError } from "@dray/api";
import { rejected } from "./errors.ts";
import { goJsonSort } from "./go-text.ts";
import { copyOf, fieldOf, isObject, type JsonObject, jsonEqual, setField, withoutField } from "./json.ts";

const maximumOperations = 10_000;
const members = new Set(["op", "path", "from", "value"]);

/**
 * Applies a JSON patch (RFC 6902) and returns the new object; nothing is changed where an operation fails.
 * `operations` is the decoded body.
 *
 * Differs from the RFC as the API server's library does: `replace` of a missing member of an object adds it,
 * `test` of a missing member against null holds, negative indexes count from the end, the whole document can only be
 * tested and replaced.
 *
 * Errors: 400 where the body is no list of operations, 413 for more than 10000, 422 where one does not apply.
 */
export function jsonPatch(object: JsonObject, operations: unknown): JsonObject {
  let document: unknown = object;
  for (const operation of operationsOf(operations)) document = applyOperation(document, operation);
  if (!isObject(document)) throw rejected();
  return document;
}

/** Warnings for members of operations that mean nothing: `json patch unknown field "[0].nosuch"`. */
export function jsonPatchWarnings(operations: unknown): string[] {
  const warnings: string[] = [];
  operationsOf(operations).forEach((operation, i) => {
    for (const key of Object.keys(operation)) {
      if (!members.has(key)) warnings.push(`json patch unknown field "[${i}].${key}"`);
    }
  });
  return warnings;
}

function operationsOf(body: unknown): readonly JsonObject[] {
  if (body === null) return [];
  if (!Array.isArray(body)) throw undecodable(body, "[]handlers.jsonPatchOp");
  for (const operation of body) {
    if (operation !== null && !isObject(operation)) throw undecodable(operation, "handlers.jsonPatchOp");
    for (const key of ["op", "path", "from"]) {
      const value = isObject(operation) ? fieldOf(operation, key) : undefined;
      if (value !== undefined && value !== null && typeof value !== "string") {
        throw badRequest(
          `json: cannot unmarshal ${goJsonSort(value)} into Go struct field jsonPatchOp.${key} of type string`,
        );
      }
    }
  }
  if (body.length > maximumOperations) {
    throw StatusError.of(
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${maximumOperations}, got ${body.length}`,
    );
  }
  return body.map((operation) => operation ?? {});
}

function undecodable(value: unknown, type: string): StatusError {
  return badRequest(`json: cannot unmarshal ${goJsonSort(value)} into Go value of type ${type}`);
}

function badRequest(text: string): StatusError {
  return StatusError.of("BadRequest", `error decoding patch: ${text}`);
}

function applyOperation(document: unknown, operation: JsonObject): unknown {
  const op = fieldOf(operation, "op");
  // A value that is left out counts as null.
  const value = fieldOf(operation, "value") ?? null;
  if (fieldOf(operation, "path") === "" && (op === "replace" || op === "test"))
    return whole(document, op, value);
  const path = pointer(fieldOf(operation, "path"));
  switch (op) {
    case "add":
      return change(document, path, (parent, key) => insert(parent, key, value));
    case "replace":
      return change(document, path, (parent, key) => replace(parent, key, value));
    case "remove":
      return change(document, path, remove);
    case "move": {
      const from = pointer(fieldOf(operation, "from"));
      const moved = read(document, from) ?? null;
      return change(change(document, from, remove), path, (parent, key) => insert(parent, key, moved));
    }
    case "copy": {
      const copied = read(document, pointer(fieldOf(operation, "from"))) ?? null;
      return change(document, path, (parent, key) => insert(parent, key, copied));
    }
    case "test":
      if (!jsonEqual(read(document, path) ?? null, value)) throw rejected();
      return document;
    default:
      throw rejected();
  }
}

function whole(document: unknown, op: "replace" | "test", value: unknown): unknown {
  if (op === "replace" && (isObject(value) || Array.isArray(value))) return value;
  if (op === "test" && jsonEqual(document, value)) return document;
  throw rejected();
}

/** The segments of a JSON pointer; never none. */
function pointer(path: unknown): readonly string[] {
  if (typeof path !== "string" || !path.startsWith("/")) throw rejected();
  return path
    .slice(1)
    .split("/")
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function read(document: unknown, path: readonly string[]): unknown {
  let value = document;
  path.forEach((key, i) => {
    if (Array.isArray(value)) value = value[indexOf(value, key)];
    else if (isObject(value)) value = fieldOf(value, key);
    else throw rejected();
    if ((value === undefined || value === null) && i < path.length - 1) throw rejected();
  });
  return value;
}

type Change = (parent: JsonObject | readonly unknown[], key: string) => unknown;

/** Replaces what stands at the end of the path's parent, copying only the way there. */
function change(document: unknown, path: readonly string[], edit: Change): unknown {
  const [key, ...rest] = path as [string, ...string[]];
  if (Array.isArray(document)) {
    if (rest.length === 0) return edit(document, key);
    const index = indexOf(document, key);
    return document.with(index, change(document[index], rest, edit));
  }
  if (!isObject(document)) throw rejected();
  if (rest.length === 0) return edit(document, key);
  const copy = copyOf(document);
  setField(copy, key, change(fieldOf(document, key), rest, edit));
  return copy;
}

function insert(parent: JsonObject | readonly unknown[], key: string, value: unknown): unknown {
  if (!Array.isArray(parent)) return assigned(parent as JsonObject, key, value);
  if (key === "-") return [...parent, value];
  const length = parent.length + 1;
  const index = integer(key);
  if (index >= length || index < -length) throw rejected();
  return parent.toSpliced(index < 0 ? index + length : index, 0, value);
}

function replace(parent: JsonObject | readonly unknown[], key: string, value: unknown): unknown {
  if (!Array.isArray(parent)) return assigned(parent as JsonObject, key, value);
  return parent.with(indexOf(parent, key), value);
}

function remove(parent: JsonObject | readonly unknown[], key: string): unknown {
  if (Array.isArray(parent)) return parent.toSpliced(indexOf(parent, key), 1);
  if (!Object.hasOwn(parent, key)) throw rejected();
  return withoutField(parent as JsonObject, key);
}

function assigned(object: JsonObject, key: string, value: unknown): JsonObject {
  const copy = copyOf(object);
  setField(copy, key, value);
  return copy;
}

function indexOf(list: readonly unknown[], key: string): number {
  const index = integer(key);
  if (index >= list.length || index < -list.length) throw rejected();
  return index < 0 ? index + list.length : index;
}

function integer(text: string): number {
  if (!/^[+-]?\d{1,15}$/.test(text)) throw rejected();
  return Number(text);
}
