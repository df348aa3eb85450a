import { type EnvironmentOptions, escapeFieldName, types } from "@dray/cel";
import { additionalOf, isEmbedded, isIntOrString, itemsOf, type Schema } from "../schema.ts";

type CelType = types.CelType;
/** Maximum sizes of a value, for cost estimation. */
type Shape = NonNullable<EnvironmentOptions["sizes"]>[string];

/** Maximum size of a request, in bytes (MaxRequestSizeBytes). */
const maxRequestBytes = 3 * 1024 * 1024;

/** Type information of a part of an object for rules: its type, and its maximum size. */
export interface DeclaredType {
  readonly type: CelType;
  /** Maximum number of characters, items or entries. */
  readonly maxElements: number;
  /** Minimum size of a value as JSON, in bytes. */
  readonly minBytes: number;
  readonly item?: DeclaredType;
  readonly key?: DeclaredType;
  /** By their names in expressions. */
  readonly fields?: ReadonlyMap<string, DeclaredType>;
}

const simple = (type: CelType, minBytes: number, maxElements = 0): DeclaredType => ({
  type,
  minBytes,
  maxElements,
});
const text = simple(types.stringType, 2, maxRequestBytes - 2);

/**
 * Returns the type of a schema; undefined for values that rules cannot access: those without a declared type.
 * At the root of a resource, kind, version and name are always accessible.
 */
export function declaredType(schema: Schema | undefined, isRoot: boolean): DeclaredType | undefined {
  return typeOf(schema, isRoot, { count: 0 });
}

interface Counter {
  count: number;
}

function typeOf(schema: Schema | undefined, isRoot: boolean, counter: Counter): DeclaredType | undefined {
  if (schema === undefined) return undefined;
  if (isIntOrString(schema)) {
    return simple(
      types.dynType,
      1,
      schema.maxLength === undefined ? maxRequestBytes - 2 : inBytes(schema.maxLength),
    );
  }
  const known = isRoot ? withMetadata(schema) : schema;
  switch (known.type) {
    case "array": {
      const items = itemsOf(known);
      const item = items && typeOf(items, isEmbedded(items), counter);
      if (item === undefined) return undefined;
      const maxElements =
        known.maxItems === undefined
          ? Math.trunc((maxRequestBytes - 2) / (item.minBytes + 1))
          : positive(known.maxItems);
      return { type: types.listType(item.type), maxElements, minBytes: 2, item };
    }
    case "object":
      return objectType(known, counter);
    case "string":
      return textType(known);
    case "boolean":
      return simple(types.boolType, 4);
    case "number":
      return simple(types.doubleType, 1);
    case "integer":
      return simple(types.intType, 1);
    default:
      return undefined;
  }
}

function objectType(schema: Schema, counter: Counter): DeclaredType | undefined {
  const additional = additionalOf(schema);
  if (additional !== undefined) {
    const item = typeOf(additional, isEmbedded(additional), counter);
    if (item === undefined) return undefined;
    const maxElements =
      schema.maxProperties === undefined
        ? Math.trunc((maxRequestBytes - 2) / (item.minBytes + 6))
        : positive(schema.maxProperties);
    return {
      type: types.mapType(types.stringType, item.type),
      maxElements,
      minBytes: 2,
      item,
      key: simple(types.stringType, 2),
    };
  }
  const fields = new Map<string, DeclaredType>();
  const required = new Set(schema.required);
  let minBytes = 2;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const field = typeOf(property, isEmbedded(property), counter);
    if (field === undefined) continue;
    const escaped = escapeFieldName(name);
    if (escaped !== undefined) fields.set(escaped, field);
    if (required.has(name) && (property.default ?? null) === null) {
      minBytes += name.length + field.minBytes + 4;
    }
  }
  // Two objects have the same type only if they are the same part of the schema.
  const type = types.structType(`object.${counter.count++}`);
  return { type, maxElements: 0, minBytes, fields };
}

function textType(schema: Schema): DeclaredType {
  const { format = "", maxLength } = schema;
  switch (format) {
    case "byte":
      return simple(types.bytesType, 2, maxLength === undefined ? maxRequestBytes - 2 : positive(maxLength));
    case "duration":
      return simple(types.durationType, 3, 32);
    case "date":
      return simple(types.timestampType, 12, 12);
    case "date-time":
      return simple(types.timestampType, 21, 32);
    default:
  }
  if (maxLength !== undefined) return { ...text, maxElements: inBytes(maxLength) };
  const values = schema.enum ?? [];
  if (values.length === 0) return text;
  const maxElements = values.reduce<number>(
    (max, one) => Math.max(max, typeof one === "string" ? Buffer.byteLength(one) : 0),
    0,
  );
  return { ...text, maxElements };
}

const positive = (count: number | bigint): number => Math.max(0, Number(count));
/** A character takes up to four bytes. */
const inBytes = (count: number | bigint): number => positive(count) * 4;

/** Returns the schema with the fields that every resource has. */
export function withMetadata(schema: Schema): Schema {
  const string: Schema = { type: "string" };
  const own = schema.properties ?? {};
  const metadata = Object.hasOwn(own, "metadata") ? own["metadata"] : undefined;
  if (
    own["kind"]?.type === "string" &&
    own["apiVersion"]?.type === "string" &&
    metadata?.type === "object" &&
    metadata.properties?.["name"]?.type === "string" &&
    metadata.properties["generateName"]?.type === "string"
  ) {
    return schema;
  }
  return {
    ...schema,
    properties: {
      ...own,
      kind: string,
      apiVersion: string,
      metadata: { type: "object", properties: { name: string, generateName: string } },
    },
  };
}

/** Returns all reachable types with fields, by name. */
export function typesWithFields(
  declared: DeclaredType,
  found = new Map<string, ReadonlyMap<string, CelType>>(),
): ReadonlyMap<string, ReadonlyMap<string, CelType>> {
  if (declared.item !== undefined) typesWithFields(declared.item, found);
  if (declared.fields !== undefined) {
    found.set(declared.type.name, new Map([...declared.fields].map(([name, field]) => [name, field.type])));
    for (const field of declared.fields.values()) typesWithFields(field, found);
  }
  return found;
}

/** Returns the maximum sizes for cost estimation. */
export function shapeOf(declared: DeclaredType): Shape {
  return {
    maxSize: declared.maxElements,
    ...(declared.key === undefined ? {} : { key: shapeOf(declared.key) }),
    ...(declared.item === undefined ? {} : { element: shapeOf(declared.item) }),
    ...(declared.fields === undefined
      ? {}
      : { fields: Object.fromEntries([...declared.fields].map(([name, field]) => [name, shapeOf(field)])) }),
  };
}
