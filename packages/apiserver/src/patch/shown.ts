import { encodeJSON, type FieldType, type StructType } from "@dray/api/codec";
import { goText } from "../json/go-text.ts";
import { isObject } from "../json/values.ts";

function partsOf(value: unknown, parts = new Set<object>()): Set<object> {
  if (typeof value !== "object" || value === null || parts.has(value)) return parts;
  parts.add(value);
  for (const item of Object.values(value)) partsOf(item, parts);
  return parts;
}

/** Returns the keys in Go's order: for an unchanged struct, that of its fields. */
function keysOf(value: object, struct: StructType | undefined, untouched: boolean): string[] {
  const keys = Object.keys(value);
  if (struct === undefined || !untouched) return keys.sort();
  const order = [...new Set([...(struct.typed ? ["kind", "apiVersion"] : []), ...struct.fields.keys()])];
  const place = (key: string): number => {
    const index = order.indexOf(key);
    return index < 0 ? order.length : index;
  };
  return keys.sort((a, b) => place(a) - place(b));
}

function ordered(value: unknown, type: FieldType | undefined, untouched: ReadonlySet<object>): unknown {
  if (Array.isArray(value)) {
    const element = type?.form === "list" ? type.element : undefined;
    return value.map((item) => ordered(item, element, untouched));
  }
  if (!isObject(value)) return value;
  if (type?.form === "scalar") return value;
  const struct = type?.form === "struct" ? type.struct : undefined;
  const inner = (key: string): FieldType | undefined =>
    type?.form === "map" ? type.value : struct?.fields.get(key)?.type;
  return Object.fromEntries(
    keysOf(value, struct, untouched.has(value)).map((key) => [
      key,
      ordered(value[key], inner(key), untouched),
    ]),
  );
}

/**
 * Formats the result of a JSON or merge patch of `live` for messages: structs that the patch has changed are
 * maps with sorted keys, the others keep the order of their fields.
 */
export function shownPatched(patched: object, live: object, struct: StructType): string {
  return encodeJSON(ordered(patched, { form: "struct", struct }, partsOf(live)));
}

/** Formats a strategic merge patch for messages. */
export function shownPatch(patch: unknown): string {
  return goText(patch);
}
