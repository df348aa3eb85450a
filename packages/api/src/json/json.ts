/** JSON of objects whose whole numbers may be beyond 2^53: those are bigints. */
import { parseJSON } from "./parser.ts";

/** A run of digits that a double may not hold. */
const longDigits = /\d{16}/;

/**
 * Reads JSON that a program has written. Whole numbers that a double cannot hold are bigints. Throws a
 * SyntaxError. Requests of clients are read by `parseJSON` of @dray/api/codec, which keeps more of the text,
 * and is slower.
 */
export function decodeJSON(text: string): unknown {
  return longDigits.test(text) ? parseJSON(text) : JSON.parse(text);
}

/** Writes JSON, as JSON.stringify does; bigints keep their digits. */
export function encodeJSON(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    // Only a bigint makes it fail: values from the API have no cycles.
    if (!(error instanceof TypeError)) throw error;
    return written(value, indent, "\n") ?? "null";
  }
}

/** Characters that Go's encoding/json escapes in strings, and JSON.stringify does not. */
const escapedByGo = /[<>&\u2028\u2029]/g;

/**
 * Escapes JSON text as Go's encoding/json does. Clients compare the bytes of raw JSON, as
 * kube-controller-manager does with the data of a ControllerRevision.
 */
export function escapeAsGo(json: string): string {
  // A replacement without a match copies nothing. Outside of strings JSON has none of these characters.
  return json.replace(escapedByGo, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** JSON.rawJSON would do it too, from Node 22 on. Undefined for what JSON leaves out. */
function written(value: unknown, indent: number, start: string): string | undefined {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const next = indent === 0 ? "" : start + " ".repeat(indent);
  const end = indent === 0 ? "" : start;
  const colon = indent === 0 ? ":" : ": ";
  if (Array.isArray(value)) {
    const items = value.map((item) => `${next}${written(item, indent, next) ?? "null"}`);
    return items.length === 0 ? "[]" : `[${items.join(",")}${end}]`;
  }
  const members = Object.entries(value).flatMap(([key, item]) => {
    const text = written(item, indent, next);
    return text === undefined ? [] : [`${next}${JSON.stringify(key)}${colon}${text}`];
  });
  return members.length === 0 ? "{}" : `{${members.join(",")}${end}}`;
}

/** JSON with sorted keys and without what is unset: the same text for values that mean the same. */
export function canonicalJSON(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJSON).join(",")}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const item = (value as Record<string, unknown>)[key];
    if (item !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJSON(item)}`);
  }
  return `{${members.join(",")}}`;
}
