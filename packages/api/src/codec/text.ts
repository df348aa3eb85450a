import { encodeJSON, escapeAsGo } from "../json/json.ts";

/** Memo of the JSON of frozen values that many objects share, so that each is written out once. */
const texts = new WeakMap<object, string>();

/** Remembers the JSON text of a value that is not changed any more. */
export function rememberText(value: object, text: string): void {
  texts.set(value, text);
}

export function rememberedText(value: object): string | undefined {
  return texts.get(value);
}

type Tree = Readonly<Record<string, unknown>>;

/**
 * JSON text of an object or a list of objects, as `encodeJSON` has it, with Go's escapes and with
 * managedFields as the last of the metadata. Field sets whose text is remembered are not looked into: they
 * are half of most objects.
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

/** Undefined where no text is remembered. */
function metadataText(metadata: unknown): string | undefined {
  const entries = (metadata as Tree | undefined)?.["managedFields"];
  if (!Array.isArray(entries) || entries.length === 0) return undefined;
  const parts: string[] = [];
  for (const { fieldsV1, ...entry } of entries as readonly Tree[]) {
    const text = typeof fieldsV1 === "object" && fieldsV1 !== null ? texts.get(fieldsV1) : undefined;
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
