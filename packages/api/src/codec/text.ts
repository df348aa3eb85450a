import { encodeJSON, escapeAsGo } from "../json/json.ts";

/**
 * The shared values, with their JSON. A shared value is frozen and part of many objects: it is written out
 * once, and a copy of an object that is to be changed has it as it is.
 */
const sharedTexts = new WeakMap<object, string>();

/** Makes a frozen value a shared one; `text` is its JSON. */
export function share(value: object, text: string): void {
  sharedTexts.set(value, text);
}

export function isShared(value: object): boolean {
  return sharedTexts.has(value);
}

/** The JSON of a shared value; undefined for other values. */
export function sharedText(value: object): string | undefined {
  return sharedTexts.get(value);
}

type Tree = Readonly<Record<string, unknown>>;

/**
 * JSON text of an object or a list of objects, as `encodeJSON` has it, with Go's escapes and with
 * managedFields as the last of the metadata. Shared field sets are not looked into: they are half of most
 * objects.
 */
export function encodeObject(value: object): string {
  return escapeAsGo(objectText(value));
}

function objectText(value: object): string {
  const { metadata, items } = value as { metadata?: unknown; items?: unknown };
  const written = Array.isArray(items)
    ? { items: `[${items.map((item) => objectText(item as object)).join(",")}]` }
    : { metadata: metadataText(metadata) };
  const [[name, text]] = Object.entries(written) as [[string, string | undefined]];
  if (text === undefined) return encodeJSON(value);
  const parts: string[] = [];
  for (const key in value) {
    const part = (value as Tree)[key];
    if (part !== undefined) parts.push(`${JSON.stringify(key)}:${key === name ? text : encodeJSON(part)}`);
  }
  return `{${parts.join(",")}}`;
}

/** Undefined unless all field sets are shared. */
function metadataText(metadata: unknown): string | undefined {
  const entries = (metadata as Tree | undefined)?.["managedFields"];
  if (!Array.isArray(entries) || entries.length === 0) return undefined;
  const parts: string[] = [];
  for (const { fieldsV1, ...entry } of entries as readonly Tree[]) {
    const text = typeof fieldsV1 === "object" && fieldsV1 !== null ? sharedText(fieldsV1) : undefined;
    if (text === undefined) return undefined;
    parts.push(joined(entry, "fieldsV1", text));
  }
  const { managedFields: _, ...rest } = metadata as Tree;
  return joined(rest, "managedFields", `[${parts.join(",")}]`);
}

/** The text of an object with one member more. */
function joined(object: Tree, name: string, text: string): string {
  const start = encodeJSON(object).slice(0, -1);
  return `${start}${start === "{" ? "" : ","}"${name}":${text}}`;
}
