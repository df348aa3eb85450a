import type { Schema } from "../../../structural-schemas/schema.ts";
import type { Version } from "./types.ts";

type GoObject = Record<string, unknown>;

/**
 * The fields of upstream's JSONSchemaProps in their order: name in Go, name in JSON, zero value as printed.
 */
const fields: readonly (readonly [
  go: string,
  json: keyof Schema,
  none: unknown,
  form?: (value: never) => unknown,
])[] = [
  ["ID", "id", ""],
  ["Schema", "$schema", ""],
  ["Ref", "$ref", null],
  ["Description", "description", ""],
  ["Type", "type", ""],
  ["Nullable", "nullable", false],
  ["Format", "format", ""],
  ["Title", "title", ""],
  ["Default", "default", null],
  ["Maximum", "maximum", null],
  ["ExclusiveMaximum", "exclusiveMaximum", false],
  ["Minimum", "minimum", null],
  ["ExclusiveMinimum", "exclusiveMinimum", false],
  ["MaxLength", "maxLength", null],
  ["MinLength", "minLength", null],
  ["Pattern", "pattern", ""],
  ["MaxItems", "maxItems", null],
  ["MinItems", "minItems", null],
  ["UniqueItems", "uniqueItems", false],
  ["MultipleOf", "multipleOf", null],
  ["Enum", "enum", null],
  ["MaxProperties", "maxProperties", null],
  ["MinProperties", "minProperties", null],
  ["Required", "required", null],
  ["Items", "items", null, schemaOrList],
  ["AllOf", "allOf", null, schemas],
  ["OneOf", "oneOf", null, schemas],
  ["AnyOf", "anyOf", null, schemas],
  ["Not", "not", null, goSchema],
  ["Properties", "properties", null, schemaMap],
  ["AdditionalProperties", "additionalProperties", null, schemaOrBool],
  ["PatternProperties", "patternProperties", null, schemaMap],
  ["Dependencies", "dependencies", null],
  ["AdditionalItems", "additionalItems", null, schemaOrBool],
  ["Definitions", "definitions", null, schemaMap],
  ["ExternalDocs", "externalDocs", null],
  ["Example", "example", null],
  ["XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", null],
  ["XEmbeddedResource", "x-kubernetes-embedded-resource", false],
  ["XIntOrString", "x-kubernetes-int-or-string", false],
  ["XListMapKeys", "x-kubernetes-list-map-keys", null],
  ["XListType", "x-kubernetes-list-type", null],
  ["XMapType", "x-kubernetes-map-type", null],
  ["XValidations", "x-kubernetes-validations", null, (rules: Rule[]) => rules.map(goRule)],
];

type Rule = NonNullable<Schema["x-kubernetes-validations"]>[number];

/** Returns a schema as errors print it: upstream's internal type, with every field by its name in Go. */
export function goSchema(schema: Schema): GoObject {
  const shown: GoObject = {};
  for (const [go, json, none, form] of fields) {
    const value = schema[json];
    shown[go] = value === undefined ? none : form === undefined ? value : form(value as never);
  }
  return shown;
}

function schemas(list: readonly Schema[]): GoObject[] {
  return list.map(goSchema);
}

function schemaMap(map: Readonly<Record<string, Schema>>): GoObject {
  return Object.fromEntries(
    Object.keys(map)
      .sort()
      .map((name) => [name, goSchema(map[name]!)]),
  );
}

function schemaOrBool(value: boolean | Schema): GoObject {
  return typeof value === "boolean"
    ? { Allows: value, Schema: null }
    : { Allows: true, Schema: goSchema(value) };
}

/** Null: an empty list, of which decoding leaves null (JSONSchemaPropsOrArray). */
function schemaOrList(value: Schema | readonly Schema[] | null): GoObject {
  if (value === null) return { Schema: null, JSONSchemas: [] };
  return Array.isArray(value)
    ? { Schema: null, JSONSchemas: schemas(value) }
    : { Schema: goSchema(value as Schema), JSONSchemas: null };
}

/** Returns a rule in the same form. */
export function goRule(rule: Rule): GoObject {
  return {
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}

/** Returns versions in the same form; fields that all versions share are elsewhere. */
export function goVersions(versions: readonly Version[]): GoObject[] {
  return versions.map(({ name, served, storage, schema, subresources, ...version }) => ({
    Name: name,
    Served: served,
    Storage: storage,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema:
      schema === undefined
        ? null
        : { OpenAPIV3Schema: schema.openAPIV3Schema === undefined ? null : goSchema(schema.openAPIV3Schema) },
    Subresources:
      subresources === undefined
        ? null
        : {
            Status: subresources.status ?? null,
            Scale: subresources.scale === undefined ? null : goScale(subresources.scale),
          },
    AdditionalPrinterColumns:
      version.additionalPrinterColumns?.map((column) => ({
        Name: column.name,
        Type: column.type,
        Format: column.format ?? "",
        Description: column.description ?? "",
        Priority: column.priority ?? 0,
        JSONPath: column.jsonPath,
      })) ?? null,
    SelectableFields: version.selectableFields?.map(({ jsonPath }) => ({ JSONPath: jsonPath })) ?? null,
  }));
}

function goScale(scale: NonNullable<NonNullable<Version["subresources"]>["scale"]>): GoObject {
  return {
    SpecReplicasPath: scale.specReplicasPath,
    StatusReplicasPath: scale.statusReplicasPath,
    LabelSelectorPath: scale.labelSelectorPath ?? null,
  };
}
