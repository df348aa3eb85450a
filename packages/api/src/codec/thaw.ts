import { setKey } from "../json/parser.ts";
import type { Provenance } from "./provenance.ts";
import { rememberedText } from "./text.ts";

/**
 * A copy to change. Frozen strings, numbers and bytes are shared, and so are values that many objects share
 * (`rememberText`). With the provenance of the value, the copy has the same.
 */
export function thaw<T>(value: T, provenance?: Provenance): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (rememberedText(value) !== undefined) return value;
  const copy = Array.isArray(value)
    ? value.map((item: unknown) => thaw(item, provenance))
    : thawedFields(value, provenance);
  provenance?.keep(copy, value);
  return copy as T;
}

function thawedFields(value: object, provenance: Provenance | undefined): object {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value))
    setKey(copy, key, thaw((value as Record<string, unknown>)[key], provenance));
  return copy;
}
