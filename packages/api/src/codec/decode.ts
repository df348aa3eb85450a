import { literalOf, looseText, repeatedEntries, setKey } from "../json/parser.ts";
import { goElement, goName, goTypeOf } from "../schema/go-names.ts";
import { type Field, type FieldType, type ScalarName, type StructType, structType } from "../schema/types.ts";
import { wrongBase64 } from "../text/base64.ts";
import { quoted } from "../text/quoted.ts";
import { canonicalQuantity } from "../values/quantity.ts";
import { readTime, TimeError } from "../values/time.ts";
import { keepEmpty } from "./empty.ts";
import { thaw } from "./thaw.ts";
import { finish, served, zeroOf } from "./written.ts";

/** A tree that cannot be read as its type; the message is Go's. */
export class DecodeError extends Error {
  override readonly name: string = "DecodeError";
}

/** Nobody has registered the kind. */
export class UnknownKindError extends DecodeError {
  override readonly name = "UnknownKindError";
  readonly apiVersion: string;
  readonly kind: string;

  constructor(apiVersion: string, kind: string) {
    super(`no kind ${quoted(kind)} is registered for version ${quoted(apiVersion)}`);
    this.apiVersion = apiVersion;
    this.kind = kind;
  }
}

export interface Decoded {
  /** In the form in which the API server writes it. */
  readonly object: Record<string, unknown>;
  /** `unknown field "spec.foo"`, `duplicate field "spec.foo"`: errors under strict validation. */
  readonly problems: readonly string[];
}

interface Context {
  /** The type of the whole tree. */
  readonly top: StructType;
  /** Release whose fields are known; all if absent. */
  readonly version: string | undefined;
  /** Empty lists and maps that are always written become null, as storing makes them. */
  readonly stored: boolean;
  /** Nobody else has the tree: parts of it that need no change may become parts of the object. */
  readonly owned: boolean;
  readonly problems: Set<string>;
  /** For error messages: the innermost struct, and the path of keys without indices. */
  struct: StructType | undefined;
  readonly keys: string[];
  /** The struct that has the union at hand: errors within name it. */
  readonly around?: StructType | undefined;
  /** The field of the value at hand; undefined for the whole tree. */
  field: Field | undefined;
  /** The types of the lists and maps between the field and the value, outermost first. */
  readonly elements: FieldType[];
  /** The first value of a wrong type: Go reads on to the end, and reports it if nothing worse follows. */
  wrong: DecodeError | undefined;
}

/** As many problems as Go collects. */
const mostProblems = 100;

function report(context: Context, problem: string): void {
  if (context.problems.size < mostProblems) context.problems.add(problem);
}

/**
 * Reads an untyped tree as a struct type of the schema: checks the types of values, reports unknown and duplicate
 * fields, and brings quantities, times and what Go leaves out into the form that the API server writes. Throws
 * DecodeError. `stored`: as the object is once it has been stored and read again. `known` is an object that has been read
 * as that type before: what the tree shares with it, in the same place, is copied without another look. `owned`:
 * nobody else has the tree, and parts of it may become parts of the object.
 */
export function decodeAs(
  tree: unknown,
  type: string | StructType,
  version?: string,
  stored = false,
  known?: object,
  owned = false,
): Decoded {
  const struct = typeof type === "string" ? structType(type) : type;
  const context: Context = {
    top: struct,
    version,
    stored,
    owned,
    problems: new Set(),
    struct: undefined,
    keys: [],
    field: undefined,
    elements: [],
    wrong: undefined,
  };
  try {
    const object = readStruct(tree ?? {}, struct, context, "", known, true) as Record<string, unknown>;
    if (context.wrong !== undefined) throw context.wrong;
    return { object, problems: [...context.problems] };
  } catch (error) {
    if (error instanceof RangeError) throw new DecodeError("exceeded max depth");
    throw error;
  }
}

/** Notes a value of the wrong type, which counts as unset from here on. */
function mismatch(value: string, context: Context, type = goType(context)): undefined {
  context.wrong ??= new DecodeError(mismatchText(value, context, type));
  return undefined;
}

/** How Go names the type of the value at hand. */
function goType({ field, elements, top }: Context): string {
  const whole = field === undefined ? goName({ form: "struct", struct: top }) : goTypeOf(field);
  return elements.reduce((name, type) => goElement(name, type), whole);
}

function mismatchText(value: string, { around, struct, keys }: Context, type: string): string {
  const named = around ?? struct;
  const place = named === undefined ? "value" : `struct field ${named.shortName}.${keys.join(".")}`;
  return `json: cannot unmarshal ${value} into Go ${place} of type ${type}`;
}

/** What Go calls the form of a value. */
function formOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "number";
  return typeof value === "boolean" ? "bool" : typeof value;
}

const none: readonly FieldType[] = [];

/** True for a JSON object. */
function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What stands in the same place of what is known. */
function partOf(known: unknown, key: string | number): unknown {
  return typeof known === "object" && known !== null ? (known as Record<string, unknown>)[key] : undefined;
}

function readStruct(
  tree: unknown,
  struct: StructType,
  context: Context,
  path: string,
  known?: unknown,
  top = false,
): unknown {
  if (struct.anyJSON) return tree;
  if (struct.alternatives !== undefined) return readUnion(tree, struct, context, path);
  if (!isTree(tree)) return mismatch(formOf(tree), context);
  const { struct: outer, field: outerField } = context;
  const outerElements = context.elements.length > 0 ? context.elements.splice(0) : none;
  const head: Record<string, unknown> = {};
  const values = new Map<string, unknown>();
  const raw = repeatedEntries(tree);
  const seen = raw === undefined ? undefined : new Map<string, unknown>();
  for (const [key, value] of raw ?? Object.entries(tree)) {
    const where = path === "" ? key : `${path}.${key}`;
    if ((top || struct.typed) && (key === "apiVersion" || key === "kind")) {
      if (seen?.has(key)) report(context, `duplicate field ${quoted(where)}`);
      seen?.set(key, value);
      context.struct = struct;
      context.keys.push("TypeMeta", key);
      if (value !== null && typeof value !== "string") mismatch(formOf(value), context, "string");
      else if (value !== null) head[key] = value;
      context.keys.length -= 2;
      continue;
    }
    const field = struct.fields.get(key);
    if (field === undefined || !served(field, context.version)) {
      report(context, `unknown field ${quoted(where)}`);
      continue;
    }
    context.struct = struct;
    for (const each of field.embedded) context.keys.push(each);
    context.keys.push(key);
    context.field = field;
    if (seen?.has(key)) {
      report(context, `duplicate field ${quoted(where)}`);
      readField(value, field, context, where, tree, values);
      // Go reads the second into what the first has left.
      const merged = merge(seen.get(key), value, field);
      seen.set(key, merged);
      const silent: Context = { ...context, problems: new Set() };
      readField(merged, field, silent, where, undefined, values);
    } else {
      seen?.set(key, value);
      readField(value, field, context, where, tree, values, partOf(known, key));
    }
    context.keys.length -= field.embedded.length + 1;
    context.struct = outer;
  }
  context.struct = outer;
  context.field = outerField;
  for (const each of outerElements) context.elements.push(each);
  const object = finish(struct, values, context.version, context.stored);
  if (!top && head["kind"] === "") delete head["kind"];
  if (!top && head["apiVersion"] === "") delete head["apiVersion"];
  return Object.keys(head).length > 0 ? keepEmpty({ ...head, ...object }, object) : object;
}

/** Sets the value of a field, or takes it away. */
function readField(
  value: unknown,
  field: Field,
  context: Context,
  path: string,
  container: object | undefined,
  values: Map<string, unknown>,
  known?: unknown,
): void {
  values.delete(field.name);
  if (value === null) {
    // A type that reads itself is asked about null as well.
    if (field.type.form === "struct" && field.type.struct.alternatives && !field.marks.pointer) {
      readUnion(value, field.type.struct, context, path);
    }
    return;
  }
  const read = readValue(value, field.type, context, path, container, field.name, known);
  // A zero time counts as unset, but a pointer to one is written.
  if (read !== undefined && (read !== null || field.marks.pointer)) values.set(field.name, read);
}

/** What Go has after it reads two values of a repeated field one after the other. */
function merge(first: unknown, second: unknown, field: Pick<Field, "type" | "marks">): unknown {
  const { type, marks } = field;
  if (second === null) {
    return marks.pointer || type.form === "list" || type.form === "map" ? null : first;
  }
  return mergeValue(first, second, type);
}

function mergeValue(first: unknown, second: unknown, type: FieldType): unknown {
  if (type.form === "list" && Array.isArray(first) && Array.isArray(second)) {
    return second.map((element, i) =>
      i < first.length ? merge(first[i], element, { type: type.element, marks: {} }) : element,
    );
  }
  if (!isTree(first) || !isTree(second)) return second;
  if (type.form !== "map" && (type.form !== "struct" || type.struct.anyJSON || type.struct.alternatives)) {
    return second;
  }
  const merged: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(first)) setKey(merged, key, value);
  for (const [key, value] of Object.entries(second)) {
    const field = type.form === "struct" ? type.struct.fields.get(key) : undefined;
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    setKey(merged, key, field && before !== undefined ? merge(before, value, field) : value);
  }
  return merged;
}

/** Go reads unions with a reader of their own, which knows neither unknown nor duplicate fields. */
function readUnion(tree: unknown, struct: StructType, context: Context, path: string): unknown {
  const inner: Context = { ...context, problems: new Set(), around: context.struct, wrong: undefined };
  for (const { type } of struct.alternatives ?? []) {
    const fits =
      type.form === "list"
        ? Array.isArray(tree)
        : type.form === "struct"
          ? isTree(tree)
          : typeof tree === "boolean";
    // An empty list is none of the alternatives to Go, and is written as null.
    if (fits && Array.isArray(tree) && tree.length === 0) return null;
    if (!fits) continue;
    const value = readValue(tree, type, inner, path, undefined, "");
    if (inner.wrong !== undefined) throw inner.wrong;
    return value;
  }
  const strict = struct.alternatives?.some(({ type }) => type.form === "scalar");
  if (strict) throw new DecodeError("boolean or JSON schema expected");
  return null;
}

function readValue(
  value: unknown,
  type: FieldType,
  context: Context,
  path: string,
  container: object | undefined,
  key: string | number,
  known?: unknown,
): unknown {
  if (value === known && typeof value === "object") return thaw(value);
  switch (type.form) {
    case "scalar": {
      const literal =
        typeof value === "number" && container !== undefined ? literalOf(container, key) : undefined;
      return readScalar(value, type.name, context, literal);
    }
    case "struct":
      return readStruct(value, type.struct, context, path, known);
    case "list": {
      if (!Array.isArray(value)) return mismatch(formOf(value), context);
      context.elements.push(type.element);
      const list = value.map((element, i) => {
        if (element === null && !readsNull(type.element)) return zeroOf(type.element, context.version);
        const read = readValue(element, type.element, context, `${path}[${i}]`, value, i, partOf(known, i));
        return read === undefined ? zeroOf(type.element, context.version) : read;
      });
      context.elements.pop();
      return list;
    }
    case "map": {
      if (!isTree(value)) return mismatch(formOf(value), context);
      const raw = repeatedEntries(value);
      // What has been decoded has no text of its own, by which raw JSON is compared.
      const plain = raw === undefined && looseText(value) === undefined;
      if (context.owned && plain && isString(type.value) && hasOnlyStrings(value)) return value;
      context.elements.push(type.value);
      const map: Record<string, unknown> = {};
      const take = (name: string, element: unknown): void => {
        const read =
          element === null && !readsNull(type.value)
            ? zeroOf(type.value, context.version)
            : readValue(element, type.value, context, `${path}.${name}`, value, name, partOf(known, name));
        setKey(map, name, read === undefined ? zeroOf(type.value, context.version) : read);
      };
      if (raw === undefined) {
        for (const name in value) take(name, value[name]);
      } else {
        const seen = new Set<string>();
        for (const [name, element] of raw) {
          if (seen.has(name)) report(context, `duplicate field ${quoted(`${path}.${name}`)}`);
          seen.add(name);
          take(name, element);
        }
      }
      context.elements.pop();
      return map;
    }
  }
}

const isString = (type: FieldType): boolean => type.form === "scalar" && type.name === "string";

function hasOnlyStrings(map: Readonly<Record<string, unknown>>): boolean {
  for (const key in map) if (typeof map[key] !== "string") return false;
  return true;
}

/** A union of a boolean refuses null where it is no pointer. */
function readsNull(type: FieldType): boolean {
  return type.form === "struct" && type.struct.alternatives !== undefined;
}

const bounds = {
  int32: { least: -(2n ** 31n), most: 2n ** 31n - 1n },
  int64: { least: -(2n ** 63n), most: 2n ** 63n - 1n },
} as const;

/** A whole number within bounds, or undefined. */
function wholeNumber(value: unknown, name: "int32" | "int64", literal: string | undefined): unknown {
  if (literal !== undefined) return undefined;
  if (typeof value !== "bigint" && (typeof value !== "number" || !Number.isInteger(value))) return undefined;
  const { least, most } = bounds[name];
  if (value < least || value > most) return undefined;
  return value === 0 ? 0 : value;
}

function readScalar(
  value: unknown,
  name: ScalarName,
  context: Context,
  literal: string | undefined,
): unknown {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  switch (name) {
    case "any":
    case "RawExtension":
    case "FieldsV1":
      return value;
    case "string":
      return typeof value === "string" ? value : mismatch(formOf(value), context);
    case "bool":
      return typeof value === "boolean" ? value : mismatch(formOf(value), context);
    case "int32":
    case "int64":
      return (
        wholeNumber(value, name, literal) ??
        mismatch(isNumber ? `number ${literal ?? value}` : formOf(value), context)
      );
    case "double":
      return isNumber ? Number(value) : mismatch(formOf(value), context);
    case "bytes":
      return readBytes(value, context);
    case "Quantity":
      return readQuantity(value, literal);
    case "Time":
    case "MicroTime":
      if (typeof value !== "string") {
        throw new DecodeError(mismatchText(formOf(value), context, "string"));
      }
      try {
        return readTime(value, name);
      } catch (error) {
        if (error instanceof TimeError) throw new DecodeError(error.message);
        throw error;
      }
    case "Duration":
      return typeof value === "string" ? value : mismatch(formOf(value), context);
    case "IntOrString": {
      if (typeof value === "string") return value;
      const number = wholeNumber(value, "int32", literal);
      if (number !== undefined) return number;
      const what = isNumber ? `number ${literal ?? value}` : formOf(value);
      throw new DecodeError(mismatchText(what, context, "int32"));
    }
  }
}

/** Base64 of which nothing is skipped or dropped. */
const canonicalBase64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
/** Longer texts are as fast to decode as to look through. */
const longestLooked = 256;

/** Base64, or a list of bytes, which Go takes as well. Line ends within are skipped. */
function readBytes(value: unknown, context: Context): string | undefined {
  if (Array.isArray(value)) {
    const bytes = value.map((byte: unknown) => {
      if (Number.isInteger(byte) && (byte as number) >= 0 && (byte as number) < 256) return byte as number;
      if (byte !== null) {
        mismatch(typeof byte === "number" ? `number ${byte}` : formOf(byte), context, "uint8");
      }
      return 0;
    });
    return Buffer.from(bytes).toString("base64");
  }
  if (typeof value !== "string") return mismatch(formOf(value), context);
  if (value.length <= longestLooked && canonicalBase64.test(value)) return value;
  const wrong = wrongBase64(value);
  if (wrong !== undefined) {
    context.wrong ??= new DecodeError(`illegal base64 data at input byte ${wrong}`);
    return undefined;
  }
  // Bits that are left over are dropped, as Go drops them.
  return Buffer.from(value, "base64").toString("base64");
}

function readQuantity(value: unknown, literal: string | undefined): string {
  // Go tries the text of whatever stands there; no object or list looks like a quantity.
  const text = typeof value === "object" ? "{}" : String(value);
  try {
    return canonicalQuantity(literal ?? text);
  } catch (error) {
    throw new DecodeError((error as Error).message);
  }
}
