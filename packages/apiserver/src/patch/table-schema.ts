import { apiVersionOf } from "@dray/api";
import { type FieldMarks, type FieldRow, kindRows, typeRows, zeroScalars } from "@dray/api/schema";
import type { JsonObject, MutableObject } from "../json/values.ts";
import atomicTypes from "./atomic-types.json" with { type: "json" };
import type { ObjectType } from "./object-type.ts";
import {
  anyValue,
  atomicValue,
  type FieldSchema,
  type ListSchema,
  type ScalarType,
  type TypeSchema,
} from "./type-schema.ts";

/** Structs that are always replaced as a whole (`structType=atomic` on the type). */
const atomic: ReadonlySet<string> = new Set(atomicTypes);

const scalars: Readonly<Record<string, ScalarType>> = {
  string: "string",
  bytes: "string",
  bool: "boolean",
  int32: "number",
  int64: "number",
  double: "number",
  // Serialized as text but accepted in other forms: any scalar.
  Quantity: "any",
  Time: "any",
  MicroTime: "any",
  Duration: "any",
  IntOrString: "any",
};
/** Any JSON value. */
const freeForm = new Set(["any", "RawExtension", "FieldsV1", "apiextensions/v1.JSON"]);

const schemas = new Map<string, TypeSchema>();
const zeros = new Map<string, JsonObject>();
const objectTypes = new Map<string, ObjectType>();

/** Returns the type of a built-in kind; undefined for kinds that are not in the schema table. */
export function builtInType(apiVersion: string, kind: string): ObjectType | undefined {
  const key = `${apiVersion}/${kind}`;
  let type = objectTypes.get(key);
  if (type === undefined) {
    const row = kindRows.find((row) => row.kind === kind && apiVersionOf(row) === apiVersion);
    if (row === undefined) return undefined;
    type = { apiVersion, kind, schema: objectSchema(row.type), zero: zeroOf(row.type) };
    objectTypes.set(key, type);
  }
  return type;
}

/** Returns the schema of an object, which is never atomic. */
function objectSchema(name: string): TypeSchema {
  return { map: { ...schemaOf(name).map, atomic: false } };
}

/** Types of kinds: they have apiVersion and kind within other objects, too (volumeClaimTemplates). */
const kindTypes: ReadonlySet<string> = new Set(kindRows.map(({ type }) => type));
const text: FieldSchema = { type: { scalar: "string" } };
const objectFields: readonly (readonly [string, FieldSchema])[] = [
  ["apiVersion", text],
  ["kind", text],
];

/** Returns the schema of a type of the table. Built on first use. */
function schemaOf(type: string): TypeSchema {
  const scalar = scalars[type];
  if (scalar !== undefined) return { scalar };
  if (freeForm.has(type)) return atomicValue;
  const known = schemas.get(type);
  if (known !== undefined) return known;
  const rows = typeRows.get(type);
  if (rows === undefined) throw new Error(`the schema table has no type ${JSON.stringify(type)}`);
  const schema: { -readonly [K in keyof TypeSchema]: TypeSchema[K] } = {};
  schemas.set(type, schema);
  if (isUnion(rows)) return Object.assign(schema, atomicValue);
  schema.map = {
    atomic: atomic.has(type),
    name: type.slice(type.lastIndexOf(".") + 1),
    fields: new Map<string, FieldSchema>([
      ...(kindTypes.has(type) ? objectFields : []),
      ...flatten(rows).map((row) => [row[0], new TableField(row)] as const),
    ]),
    // The published schema of a struct without fields is that of any object.
    ...(rows.length === 0 ? { element: anyValue } : {}),
  };
  return schema;
}

/** Rows without a name that are not inlined are alternatives: the value is not a struct. */
function isUnion(rows: readonly FieldRow[]): boolean {
  return rows.some(([name, , , marks]) => name === "" && !marks?.inline);
}

/** Replaces the rows of inlined structs by their fields. */
function flatten(rows: readonly FieldRow[]): FieldRow[] {
  return rows.flatMap((row) =>
    row[3]?.inline && typeRows.has(row[2]) ? flatten(typeRows.get(row[2]) ?? []) : [row],
  );
}

/** A field of the table. Its type is built on first use: few fields of most kinds are used. */
class TableField implements FieldSchema {
  readonly default?: unknown;
  readonly untracked?: true;
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
  readonly #row: FieldRow;
  #type: TypeSchema | undefined;

  constructor(row: FieldRow) {
    const [name, , type, marks = {}] = row;
    this.#row = row;
    const fallback = defaultOf(type, marks);
    if (fallback !== undefined) this.default = fallback;
    if (name === "managedFields" && type === "[]meta/v1.ManagedFieldsEntry") this.untracked = true;
    if (marks.patchStrategy !== undefined) this.patchStrategy = marks.patchStrategy.split(",");
    if (marks.patchMergeKey !== undefined) this.patchMergeKey = marks.patchMergeKey;
  }

  get type(): TypeSchema {
    const [, , type, marks = {}] = this.#row;
    this.#type ??= typeOf(type, marks);
    return this.#type;
  }
}

function typeOf(type: string, marks: FieldMarks): TypeSchema {
  if (type.startsWith("[]")) {
    const list: ListSchema = {
      relation: marks.listType ?? "atomic",
      element: typeOf(type.slice(2), {}),
      ...(marks.listMapKeys === undefined ? {} : { keys: [...marks.listMapKeys].sort() }),
    };
    return { list };
  }
  if (type.startsWith("map<")) {
    return { map: { atomic: marks.mapType === "atomic", element: typeOf(type.slice(4, -1), {}) } };
  }
  const schema = schemaOf(type);
  if (marks.structType === undefined || schema.map === undefined) return schema;
  return { map: { ...schema.map, atomic: marks.structType === "atomic" } };
}

/** Returns the declared default, otherwise the zero value of a scalar that is always serialized. */
function defaultOf(type: string, marks: FieldMarks): unknown {
  if (marks.default !== undefined) {
    // `ref(Name)` names a constant of Kubernetes; no such field is a list key.
    return marks.default.startsWith("ref(") ? undefined : JSON.parse(marks.default);
  }
  return marks.omit === "never" && marks.pointer === undefined ? zeroScalars.get(type) : undefined;
}

/** Returns the JSON of an unset struct. */
function zeroOf(type: string): JsonObject {
  let zero = zeros.get(type);
  if (zero === undefined) {
    const object: MutableObject = {};
    for (const [name, , fieldType, marks = {}] of flatten(typeRows.get(type) ?? [])) {
      const value = zeroField(fieldType, marks);
      if (value !== undefined && name !== "") object[name] = value;
    }
    zero = Object.freeze(object);
    zeros.set(type, zero);
  }
  return zero;
}

function zeroField(type: string, marks: FieldMarks): unknown {
  if (marks.omit === "zero") return undefined;
  if (marks.pointer) return marks.omit === "never" ? null : undefined;
  if (type === "Time" || type === "MicroTime") return null;
  if (typeRows.has(type)) return zeroOf(type);
  if (marks.omit !== "never") return undefined;
  return zeroScalars.get(type) ?? null;
}
