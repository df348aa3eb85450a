import { floatText, quoted } from "@dray/api";
import { ForeignValue } from "@dray/cel";
import { isNumeric, type JsonObject } from "./values.ts";

/**
 * Formats a decoded JSON value with Go's `%v`: `map[a:1 b:[x y]]`, sorted keys. Error messages contain it.
 */
export function goText(value: unknown): string {
  if (value instanceof ForeignValue) return value.text;
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (typeof value === "number") return floatText(value, 21);
  if (typeof value !== "object") return String(value);
  const object = value as JsonObject;
  return `map[${Object.keys(object)
    .sort()
    .map((key) => `${key}:${goText(object[key])}`)
    .join(" ")}]`;
}

/** Formats a decoded JSON value with Go's `%#v`. */
export function goSyntax(value: unknown): string {
  if (value instanceof ForeignValue) return value.syntax;
  if (value === null || value === undefined) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return floatText(value, 21);
  if (typeof value !== "object") return String(value);
  const object = value as JsonObject;
  return `map[string]interface {}{${Object.keys(object)
    .sort()
    .map((key) => `${quoted(key)}:${goSyntax(object[key])}`)
    .join(", ")}}`;
}

/** Returns the name of the Go type of a decoded JSON value. */
export function goType(value: unknown): string {
  if (value instanceof ForeignValue) return value.type;
  if (value === null || value === undefined) return "%!s(<nil>)";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (isNumeric(value)) return typeof value === "bigint" || Number.isInteger(value) ? "int64" : "float64";
  return "map[string]interface {}";
}

/** Returns the name by which Go's JSON decoder reports a value of the wrong type. */
export function goJsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "object") return "object";
  return typeof value === "string" ? "string" : "number";
}
