import { setKey } from "../../json/parser.ts";
import type { Field, FieldType } from "../../schema/types.ts";
import { isTree } from "./values.ts";

/**
 * Returns Go's value of a field that a text repeats: the second value is read into the first.
 */
export function mergeRepeated(
  first: unknown,
  second: unknown,
  field: Pick<Field, "type" | "marks">,
): unknown {
  const { type, marks } = field;
  if (second === null) {
    return marks.pointer || type.form === "list" || type.form === "map" ? null : first;
  }
  return mergeValue(first, second, type);
}

function mergeValue(first: unknown, second: unknown, type: FieldType): unknown {
  if (type.form === "list" && Array.isArray(first) && Array.isArray(second)) {
    return second.map((element, i) =>
      i < first.length ? mergeRepeated(first[i], element, { type: type.element, marks: {} }) : element,
    );
  }
  if (!isTree(first) || !isTree(second)) return second;
  if (type.form !== "map" && (type.form !== "struct" || type.struct.anyJSON || type.struct.alternatives)) {
    return second;
  }
  const merged: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(first)) setKey(merged, key, value);
  for (const [key, value] of Object.entries(second)) {
    const field = type.form === "struct" ? type.struct.fields.get(key) : undefined;
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    setKey(merged, key, field && before !== undefined ? mergeRepeated(before, value, field) : value);
  }
  return merged;
}
