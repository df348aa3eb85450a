import { apiVersionOf } from "@dray/api";
import { setOf } from "../patch/field-set.ts";
import {
  anyValue,
  atomicValue,
  builtInType,
  type FieldSchema,
  type ObjectType,
  type TypeSchema,
} from "../patch/index.ts";
import {
  additionalOf,
  isEmbedded,
  isIntOrString,
  itemsOf,
  preserves,
  type Schema,
} from "../structural-schemas/schema.ts";

const scalars: Readonly<Record<string, TypeSchema>> = {
  integer: { scalar: "number" },
  number: { scalar: "number" },
  boolean: { scalar: "boolean" },
};

/** Metadata is the same everywhere. */
function metadata(): FieldSchema {
  const found = builtInType("v1", "ConfigMap")?.schema.map?.fields?.get("metadata");
  if (found === undefined) throw new TypeError("the schema of ConfigMap has no metadata");
  return found;
}

/** Field sets that a write does not own: with a status subresource, neither half owns the other. */
const resetFields = { "": setOf(["f:status"]), status: setOf(["f:metadata"], ["f:spec"]) };

/** A version of a custom resource, as far as patches and server-side apply need it. */
interface MergedVersion {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: Schema | undefined;
  /** Unknown fields are kept. */
  readonly preserves: boolean;
  readonly hasStatus: boolean;
}

/** Returns the type by which patches and server-side apply merge the objects of a version. */
export function objectTypeOf(version: MergedVersion): ObjectType {
  const { kind, schema, preserves, hasStatus } = version;
  return {
    apiVersion: apiVersionOf(version),
    kind,
    schema: applySchema(schema, preserves),
    zero: {},
    unowned: hasStatus ? resetFields : {},
  };
}

/** Returns the merge schema of a custom resource: its own schema, with the fields that every object has. */
function applySchema(schema: Schema | undefined, keepsUnknown: boolean): TypeSchema {
  if (schema === undefined) return withObjectFields(anyValue, true);
  return withObjectFields(typeOf(schema, keepsUnknown), keepsUnknown || preserves(schema));
}

function withObjectFields(type: TypeSchema, open: boolean): TypeSchema {
  const text: FieldSchema = { type: { scalar: "string" } };
  const fields = new Map<string, FieldSchema>(type.map?.fields ?? []);
  fields.set("apiVersion", text).set("kind", text).set("metadata", metadata());
  return {
    map: { atomic: false, ...type.map, fields, ...(open ? { element: type.map?.element ?? anyValue } : {}) },
  };
}

/** `keepsUnknown` is inherited: preserved values may have unknown fields at any depth. */
function typeOf(schema: Schema, keepsUnknown: boolean): TypeSchema {
  const keeps = keepsUnknown || preserves(schema);
  if (isIntOrString(schema)) return { scalar: "any", list: untypedList, map: freeMap };
  const type = schema.type ?? "";
  switch (type) {
    case "object": {
      const object = { map: mapOf(schema, keeps) };
      return isEmbedded(schema) ? withObjectFields(object, keeps) : object;
    }
    case "array":
      return { list: listOf(schema, keeps) };
    case "":
      return {
        scalar: "any",
        list: schema.items === undefined ? untypedList : listOf(schema, keeps),
        map: mapOf(schema, keeps),
      };
    case "string":
      // structured-merge-diff accepts any scalar for a string with a format, except for bytes.
      return { scalar: schema.format && schema.format !== "byte" ? "any" : "string" };
    default:
      return scalars[type] ?? { scalar: "any" };
  }
}

const untypedList = { relation: "atomic", element: atomicValue } as const;
const freeMap = { atomic: false, element: anyValue };

function mapOf(schema: Schema, keeps: boolean): NonNullable<TypeSchema["map"]> {
  const properties = Object.entries(schema.properties ?? {});
  const additional = additionalOf(schema);
  const free =
    schema.additionalProperties === undefined
      ? keeps || properties.length === 0
      : schema.additionalProperties === true;
  const element = additional !== undefined ? typeOf(additional, keeps) : free ? anyValue : undefined;
  return {
    atomic: schema["x-kubernetes-map-type"] === "atomic",
    ...(properties.length === 0
      ? {}
      : {
          fields: new Map(
            properties.map(([name, property]): [string, FieldSchema] => [
              name,
              {
                type: typeOf(property, keeps),
                ...(property.default === undefined || property.default === null
                  ? {}
                  : { default: property.default }),
              },
            ]),
          ),
        }),
    ...(element === undefined ? {} : { element }),
  };
}

function listOf(schema: Schema, keeps: boolean): NonNullable<TypeSchema["list"]> {
  const items = itemsOf(schema);
  const element = items === undefined ? atomicValue : typeOf(items, keeps);
  const type = schema["x-kubernetes-list-type"];
  if (type === "set") return { relation: "set", element };
  if (type !== "map") return { relation: "atomic", element };
  return { relation: "map", element, keys: [...(schema["x-kubernetes-list-map-keys"] ?? [])].sort() };
}
