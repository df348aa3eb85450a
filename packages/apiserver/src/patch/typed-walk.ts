import { isNumeric } from "../json/values.ts";
import type { TypeSchema } from "./type-schema.ts";

/** As which of its sorts a schema takes a value. */
export type Sort = "map" | "scalar" | "list";

/** Where the value fits none of them, or is null, the first that the schema has. */
export function sortFor(schema: TypeSchema, value: unknown): Sort {
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

/** Null, missing, and the values of another sort all count as nothing. */
export function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
