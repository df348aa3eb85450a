import { type FieldError, fieldErrorText } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";
import { patternProblem } from "@dray/cel";
import {
  additionalOf,
  isEmbedded,
  isIntOrString,
  itemsOf,
  preserves,
  propertyOf,
  type Schema,
  someSchema,
} from "../../../structural-schemas/schema.ts";

type Level = "root" | "item" | "field";

/** Reports fields that a structural schema never supports; they have an error message of their own. */
export function hasUnsupported(schema: Schema): boolean {
  return someSchema(
    schema,
    (one) =>
      Boolean(one.id ?? one.$schema ?? one.$ref) ||
      one.patternProperties !== undefined ||
      one.dependencies !== undefined ||
      one.additionalItems !== undefined ||
      one["x-kubernetes-preserve-unknown-fields"] === false ||
      one.definitions !== undefined ||
      Array.isArray(one.items),
  );
}

/**
 * Returns why a schema is not structural: every part that is specified has a type of its own outside of
 * allOf, anyOf, oneOf and not (KEP-1002). Sorted by message.
 */
export function structuralErrors(errors: FieldErrors, schema: Schema): FieldError[] {
  const own = errors.detached();
  checkInvariants(own, schema, "root");
  checkComplete(own, schema, schema, own);
  return own.list
    .map((error) => ({ error, text: fieldErrorText(error) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ error }) => error);
}

const types: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function checkInvariants(errors: FieldErrors, schema: Schema, level: Level): void {
  const items = itemsOf(schema);
  const type = schema.type ?? "";
  if (type === "array" && !schema.items) errors.at("items").required("must be specified");
  if (items !== undefined) checkInvariants(errors.at("items"), items, "item");
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    checkInvariants(errors.at("properties").key(name), property, "field");
  }
  if (schema.additionalProperties !== undefined) {
    if (level === "root") errors.at("additionalProperties").forbidden("must not be used at the root");
    const additional = additionalOf(schema);
    if (additional !== undefined) checkInvariants(errors.at("additionalProperties"), additional, "field");
  }
  const embedded = isEmbedded(schema);
  if (isIntOrString(schema)) {
    const detail = "must be false if x-kubernetes-int-or-string is true";
    if (preserves(schema)) errors.at("x-kubernetes-preserve-unknown-fields").invalid(true, detail);
    if (embedded) errors.at("x-kubernetes-embedded-resource").invalid(true, detail);
  }
  checkValidations(
    errors,
    schema,
    isIntOrStringAnyOf(schema.anyOf),
    isIntOrStringAnyOf(schema.allOf?.[0]?.anyOf),
  );
  if (embedded && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    if (type === "") errors.at("type").required(detail);
    else errors.at("type").invalid(type, detail);
  } else if (type === "" && !isIntOrString(schema) && !preserves(schema)) {
    errors.at("type").required(types[level]);
  }
  if (embedded && schema.additionalProperties !== undefined) {
    errors.at("additionalProperties").forbidden("must not be used if x-kubernetes-embedded-resource is set");
  }
  if (level === "root" && type !== "" && type !== "object") {
    errors.at("type").invalid(type, "must be object at the root");
  }
  checkMetadata(errors, schema, level);
  if (embedded && !preserves(schema) && Object.keys(schema.properties ?? {}).length === 0) {
    errors
      .at("properties")
      .required(
        "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
      );
  }
}

function checkMetadata(errors: FieldErrors, schema: Schema, level: Level): void {
  const whole = level === "root" || isEmbedded(schema);
  for (const name of whole ? ["kind", "apiVersion"] : []) {
    const property = propertyOf(schema, name);
    if (property !== undefined && property.type !== "string") {
      errors
        .at("properties")
        .key(name)
        .at("type")
        .invalid(property.type ?? "", "must be string");
    }
  }
  const metadata = propertyOf(schema, "metadata");
  if (metadata === undefined) return;
  const here = errors.at("properties").key("metadata");
  if (whole && metadata.type !== "object") here.at("type").invalid(metadata.type ?? "", "must be object");
  if (level !== "root") return;
  const { type: _type, default: _default, properties = {}, ...rest } = metadata;
  const others = Object.keys(properties).filter((name) => name !== "name" && name !== "generateName");
  if (others.length > 0 || Object.keys(rest).length > 0) {
    here.forbidden(
      "must not specify anything other than name and generateName, but metadata is implicitly specified",
    );
  }
}

/** `anyOf: [{type: integer}, {type: string}]`, the only alternative that may have types. */
function isIntOrStringAnyOf(anyOf: readonly Schema[] | undefined): boolean {
  return (
    anyOf?.length === 2 &&
    ["integer", "string"].every((type, index) => {
      const one = anyOf[index]!;
      return one.type === type && Object.keys(one).length === 1;
    })
  );
}

function checkValidations(
  errors: FieldErrors,
  schema: Schema,
  skipAnyOf = false,
  skipFirstAllOf = false,
): void {
  if (!skipAnyOf) {
    schema.anyOf?.forEach((one, index) => {
      checkNested(errors.at("anyOf").index(index), one);
    });
  }
  schema.allOf?.forEach((one, index) => {
    checkNested(errors.at("allOf").index(index), one, skipFirstAllOf && index === 0);
  });
  schema.oneOf?.forEach((one, index) => {
    checkNested(errors.at("oneOf").index(index), one);
  });
  if (schema.not !== undefined) checkNested(errors.at("not"), schema.not);
  if (schema.pattern) {
    const problem = patternProblem(schema.pattern);
    if (problem !== undefined) {
      const detail = `must be a valid regular expression, but isn't: ${problem}`;
      errors.at("pattern").invalid(schema.pattern, detail);
    }
  }
}

/** Fields that alternatives of a schema must not have, with the detail of the error. */
const forbidden: readonly (readonly [keyof Schema, string])[] = [
  ["type", "empty"],
  ["additionalProperties", "undefined"],
  ["default", "undefined"],
  ["title", "empty"],
  ["description", "empty"],
  ["nullable", "false"],
  ["x-kubernetes-preserve-unknown-fields", "false"],
  ["x-kubernetes-embedded-resource", "false"],
  ["x-kubernetes-int-or-string", "false"],
  ["x-kubernetes-list-map-keys", "empty"],
  ["x-kubernetes-list-type", "undefined"],
  ["x-kubernetes-map-type", "undefined"],
  ["x-kubernetes-validations", "empty"],
];

function checkNested(errors: FieldErrors, schema: Schema, skipAnyOf = false): void {
  checkValidations(errors, schema, skipAnyOf);
  const items = itemsOf(schema);
  if (items !== undefined) checkNested(errors.at("items"), items);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    checkNested(errors.at("properties").key(name), property);
  }
  for (const [field, requirement] of forbidden) {
    const value = schema[field];
    const empty =
      value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
    if (empty || (value === false && field !== "default")) continue;
    errors.at(field).forbidden(`must be ${requirement} to be structural`);
  }
  if (propertyOf(schema, "metadata") !== undefined) {
    errors.at("properties").key("metadata").forbidden("must not be specified in a nested context");
  }
}

/** Every field that an alternative (at `place`) constrains must also be in the schema itself. */
function checkComplete(
  errors: FieldErrors,
  nested: Schema,
  schema: Schema | undefined,
  place: FieldErrors,
): void {
  if (nested.not !== undefined) checkNestedComplete(errors, nested.not, schema, place.at("not"));
  for (const junctor of ["allOf", "anyOf", "oneOf"] as const) {
    nested[junctor]?.forEach((one, index) => {
      checkNestedComplete(errors, one, schema, place.at(junctor).index(index));
    });
  }
}

function checkNestedComplete(
  errors: FieldErrors,
  nested: Schema,
  schema: Schema | undefined,
  place: FieldErrors,
): void {
  if (schema === undefined) {
    errors.required(`because it is defined in ${place.path}`);
    return;
  }
  checkComplete(errors, nested, schema, place);
  const items = itemsOf(nested);
  if (items !== undefined) checkNestedComplete(errors.at("items"), items, itemsOf(schema), place.at("items"));
  for (const [name, property] of Object.entries(nested.properties ?? {})) {
    const at = (scope: FieldErrors): FieldErrors => scope.at("properties").key(name);
    checkNestedComplete(at(errors), property, propertyOf(schema, name), at(place));
  }
  const additional = additionalOf(nested);
  if (additional !== undefined) {
    const name = "additionalProperties";
    checkNestedComplete(errors.at(name), additional, additionalOf(schema), place.at(name));
  }
}
