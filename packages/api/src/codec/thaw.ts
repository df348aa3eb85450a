import { setKey } from "../json/parser.ts";
import { rememberedText } from "./text.ts";

/**
 * A copy to change. Frozen strings, numbers and bytes are shared, and so are values that many objects share
 * (`rememberText`).
 */
export function thaw<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(thaw) as T;
  if (rememberedText(value) !== undefined) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setKey(copy, key, thaw((value as Record<string, unknown>)[key]));
  return copy as T;
}
