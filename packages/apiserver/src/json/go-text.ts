import { floatText, quoted } from "@dray/api";
import { ForeignValue } from "@dray/cel";
import { isNumeric, type JsonObject } from "./values.ts";

/** How Go's `%v` shows a decoded JSON value: `map[a:1 b:[x y]]`, keys in order. Error texts carry it. */
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

/** How Go's `%#v` shows a decoded JSON value. */
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

/** The name of the Go type that a decoded JSON value has. */
export function goType(value: unknown): string {
  if (value instanceof ForeignValue) return value.type;
  if (value === null || value === undefined) return "%!s(<nil>)";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (isNumeric(value)) return typeof value === "bigint" || Number.isInteger(value) ? "int64" : "float64";
  return "map[string]interface {}";
}

/** What Go's JSON decoder calls a value of the wrong sort. */
export function goJsonSort(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "object") return "object";
  return typeof value === "string" ? "string" : "number";
}
