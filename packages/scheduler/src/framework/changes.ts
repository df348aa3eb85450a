import { encodeJSON } from "@dray/api";

/** Reports whether two parts of objects differ; absent, null and empty are the same. */
export function differ(a: unknown, b: unknown): boolean {
  return text(a) !== text(b);
}

function text(value: unknown): string {
  const json = encodeJSON(value ?? null);
  return json === "[]" || json === "{}" ? "null" : json;
}
