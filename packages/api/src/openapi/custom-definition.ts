import type { KindRow } from "../schema/table.ts";
import { describeCommonField } from "./descriptions.ts";
import type { JSONObject, JSONValue } from "./json.ts";
import type { CustomSchema } from "./schemas.ts";

/** A kind that the table lacks, with its schema. */
export interface CustomKind {
  readonly row: KindRow;
  readonly custom: CustomSchema;
}

const preservesKey = "x-kubernetes-preserve-unknown-fields";
const embeddedKey = "x-kubernetes-embedded-resource";

/**
 * The definition of a custom resource in Swagger 2.0. It is made from the schema in its
 * CustomResourceDefinition, not from the published schema of OpenAPI v3, which has more fields and requires
 * more.
 *
 * Upstream: apiextensions-apiserver, pkg/controller/openapi/builder/builder.go, buildKubeNative
 */
export function customDefinition({ row, custom }: CustomKind): JSONObject {
  const { group, version, kind } = row;
  const { schema, selectableFields } = custom;
  const extensions = {
    "x-kubernetes-group-version-kind": [{ group, version, kind }],
    ...(selectableFields.length === 0
      ? {}
      : { "x-kubernetes-selectable-fields": selectableFields.map((fieldPath) => ({ fieldPath })) }),
  };
  // kubectl would report all fields but the named ones as unknown.
  if (schema === undefined || schema[preservesKey] === true) return { type: "object", ...extensions };
  return { ...withObjectFields(converted(schema)), ...extensions };
}

/** Keywords that are not copied: OpenAPI v2 lacks some, and others are converted one by one. */
const dropped = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "nullable",
  "default",
  "properties",
  "items",
  "required",
]);

/** Upstream: apiextensions-apiserver, pkg/controller/openapi/v2/conversion.go, ToStructuralOpenAPIV2 */
function converted(schema: JSONObject): JSONObject {
  const { properties, items, additionalProperties } = schema;
  const preserves = schema[preservesKey] === true;
  const open = preserves || schema["nullable"] === true;
  const required = stillRequired(schema, open);
  const made: { [key: string]: JSONValue } = {};
  for (const [key, value] of Object.entries(schema)) if (!dropped.has(key)) made[key] = value;
  if (required.length > 0) made["required"] = required;
  if (!open && isObject(properties)) {
    made["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [name, converted(one as JSONObject)]),
    );
  }
  if (!open && isObject(items)) made["items"] = converted(items);
  if (isObject(additionalProperties)) made["additionalProperties"] = converted(additionalProperties);
  const { type } = schema;
  // kubectl supports neither lists without items nor objects with fields beyond the listed ones.
  const untyped =
    schema["nullable"] === true ||
    (type === "array" && made["items"] === undefined) ||
    (type === "object" && preserves);
  if (untyped) delete made["type"];
  if (schema[embeddedKey] !== true || preserves) return made;
  const more = ["kind", "apiVersion"].filter((name) => !required.includes(name));
  return { ...withObjectFields(made), required: [...required, ...more] };
}

/** A field that may be null may be missing too. */
function stillRequired(
  { required, properties, additionalProperties }: JSONObject,
  open: boolean,
): readonly string[] {
  if (isObject(additionalProperties) && additionalProperties["nullable"] === true) return [];
  const names = (required ?? []) as readonly string[];
  if (open || !isObject(properties)) return names;
  return names.filter((name) => (properties[name] as JSONObject | undefined)?.["nullable"] !== true);
}

function withObjectFields(schema: JSONObject): JSONObject {
  const own = schema["properties"] as JSONObject | undefined;
  const text = (field: "apiVersion" | "kind"): JSONObject => ({
    description: describeCommonField(field),
    type: "string",
  });
  return {
    ...schema,
    properties: {
      ...own,
      apiVersion: text("apiVersion"),
      kind: text("kind"),
      metadata: {
        description: describeCommonField("metadata"),
        $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
      },
    },
  };
}

function isObject(value: JSONValue | undefined): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
