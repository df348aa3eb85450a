import type { StructType } from "../../schema/types.ts";

/** The name that Go's JSON decoder gives to the form of a value. */
export function formOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "number";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** True for a JSON object. */
export function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The part of a known value in the same place. */
export function partOf(known: unknown, key: string | number): unknown {
  return typeof known === "object" && known !== null ? (known as Record<string, unknown>)[key] : undefined;
}

/** Whether a key of an object is `apiVersion` or `kind` of its TypeMeta. The whole tree always has one. */
export function isTypeMeta(key: unknown, struct: StructType, isWhole: boolean): boolean {
  return (key === "apiVersion" || key === "kind") && (isWhole || struct.typed);
}
