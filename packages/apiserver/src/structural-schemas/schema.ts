import type { JSONSchemaProps } from "@dray/api/apiextensions/v1";

/** The schema of a custom resource, or of a part of it (apiextensions.k8s.io/v1 JSONSchemaProps). */
export type Schema = JSONSchemaProps;

/** A JSON object; a client may send any key. */
export type Plain = { [key: string]: unknown };

export function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the schema of a named property; `__proto__` and `constructor` are ordinary names. */
export function propertyOf(schema: Schema | undefined, name: string): Schema | undefined {
  const properties = schema?.properties;
  return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** Returns the schema of additional properties; undefined if it is absent or a boolean. */
export function additionalOf(schema: Schema | undefined): Schema | undefined {
  const additional = schema?.additionalProperties;
  return typeof additional === "object" ? (additional ?? undefined) : undefined;
}

/** Returns the schema of the items of a list. */
export function itemsOf(schema: Schema | undefined): Schema | undefined {
  const items = schema?.items;
  return Array.isArray(items) ? undefined : (items ?? undefined);
}

/** Returns the schema of a field: of the property or of additional properties. */
export function fieldOf(schema: Schema | undefined, name: string): Schema | undefined {
  return propertyOf(schema, name) ?? additionalOf(schema);
}

/**
 * Reports whether the schema has properties or additional properties: otherwise a map of thousands of fields
 * needs no check.
 */
export const namesFields = (schema: Schema | undefined): boolean =>
  schema?.properties !== undefined || schema?.additionalProperties !== undefined;

/** Reports whether a value may have children. */
export const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

export const preserves = (schema: Schema | undefined): boolean =>
  schema?.["x-kubernetes-preserve-unknown-fields"] === true;
export const isEmbedded = (schema: Schema): boolean => schema["x-kubernetes-embedded-resource"] === true;
export const isIntOrString = (schema: Schema): boolean => schema["x-kubernetes-int-or-string"] === true;

/** The fields that every object has, even if its schema does not name them. */
export const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/** Sets a field with any name, `__proto__` included. */
export function setField(object: Plain, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  } else object[name] = value;
}

/** Path of a named field: `spec.replicas`. */
export const child = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
/** Path of a key of a map: `spec.labels[a]`. */
export const keyed = (path: string, key: string): string => `${path}[${key}]`;

/** The types of JSON values, in OpenAPI's terms. */
export type Form = "null" | "string" | "boolean" | "integer" | "number" | "array" | "object";

export function formOf(value: unknown): Form {
  if (value === null || value === undefined) return "null";
  switch (typeof value) {
    case "string":
    case "boolean":
      return typeof value as "string" | "boolean";
    case "bigint":
      return BigInt.asIntN(64, value) === value ? "integer" : "number";
    case "number":
      return Number.isSafeInteger(value) ? "integer" : "number";
    default:
      return Array.isArray(value) ? "array" : "object";
  }
}

type Condition = (schema: Schema) => boolean;

/** Reports whether the schema or one of its descendants satisfies a condition. */
export function someSchema(schema: Schema | undefined, holds: Condition): boolean {
  if (schema === undefined) return false;
  if (holds(schema)) return true;
  const { items, not, additionalProperties, additionalItems } = schema;
  return (
    (Array.isArray(items) ? someOf(items, holds) : someIn(items, holds)) ||
    someOf(schema.allOf, holds) ||
    someOf(schema.anyOf, holds) ||
    someOf(schema.oneOf, holds) ||
    someIn(not, holds) ||
    someNamed(schema.properties, holds) ||
    someIn(additionalProperties, holds) ||
    someNamed(schema.patternProperties, holds) ||
    someIn(additionalItems, holds) ||
    someNamed(schema.definitions, holds) ||
    someNamed(schema.dependencies, holds)
  );
}

/** The same of a part that may also be a truth value, or a list of names (`dependencies`). */
function someIn(part: unknown, holds: Condition): boolean {
  return typeof part === "object" && part !== null && !Array.isArray(part) && someSchema(part, holds);
}

function someOf(parts: readonly unknown[] | undefined, holds: Condition): boolean {
  return parts?.some((part) => someIn(part, holds)) ?? false;
}

function someNamed(parts: Readonly<Record<string, unknown>> | undefined, holds: Condition): boolean {
  for (const name in parts) if (someIn(parts[name], holds)) return true;
  return false;
}
