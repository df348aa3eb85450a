import { isNumeric } from "../json/values.ts";
import type { TypeSchema } from "./type-schema.ts";

/** The JSON type as which a schema accepts a value. */
export type ValueType = "map" | "scalar" | "list";

/** Returns the first type of the schema if the value has none of them, or is null. */
export function valueTypeFor(schema: TypeSchema, value: unknown): ValueType {
  if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) {
      if (schema.list !== undefined) return "list";
    } else if (schema.map !== undefined) return "map";
  } else if (schema.scalar !== undefined && isScalar(value)) return "scalar";
  if (schema.map !== undefined) return "map";
  return schema.scalar !== undefined ? "scalar" : "list";
}

export function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || isNumeric(value);
}

/** Null, missing, and values of another type all count as absent. */
export function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
