import { setKey } from "../json/parser.ts";
import type { Provenance } from "./provenance.ts";
import { isShared } from "./text.ts";

/**
 * A copy to change. It has the strings, numbers, bytes and shared values (`share`) of the original. With the
 * provenance of the value, the copy has the same.
 */
export function thaw<T>(value: T, provenance?: Provenance): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (isShared(value)) return value;
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
