import { JSONError, parseJSON } from "@dray/api/codec";
import { parseYAMLDocuments, YAMLError, type YAMLTree } from "@dray/api/yaml";
import type { Source } from "./files.ts";
import { jsonText } from "./json-text.ts";
import { InputError, type Place, placeText } from "./place.ts";

/** An object as it was written. */
export interface Draft {
  readonly place: Place;
  readonly tree: Readonly<Record<string, unknown>>;
  readonly apiVersion: string;
  readonly kind: string;
  /** Keys that stand in it twice, as strict validation words them. */
  readonly duplicates: readonly string[];
}

/** The objects of a text, those of lists one by one. Throws InputError. */
export function readDrafts(source: Source): Draft[] {
  return parse(source).flatMap(({ value, document, duplicates }) =>
    draftsOf(value, { file: source.file, document }, duplicates),
  );
}

function parse({ file, text }: Source): YAMLTree[] {
  const json = file.endsWith(".json");
  if (json || text.trimStart().startsWith("{")) {
    try {
      return [{ value: parseJSON(text), document: 1, duplicates: [] }];
    } catch (error) {
      if (!(error instanceof JSONError)) throw error;
      // Text that begins with a brace may be YAML all the same.
      if (json) throw new InputError([`${file}: is not JSON: ${error.message}`]);
    }
  }
  try {
    return parseYAMLDocuments(text);
  } catch (error) {
    if (!(error instanceof YAMLError)) throw error;
    const place = error.document === undefined ? file : placeText({ file, document: error.document });
    throw new InputError([`${place}: is not YAML: ${error.message.replace(/^yaml: /, "")}`]);
  }
}

function draftsOf(value: unknown, place: Place, duplicates: readonly string[], listKind?: Kind): Draft[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const what = Array.isArray(value) ? "a list" : value === null ? "nothing" : `a ${typeof value}`;
    throw new InputError([
      `${placeText(place)}: must be a Kubernetes object with apiVersion, kind and metadata, and is ${what}`,
    ]);
  }
  const tree = value as Record<string, unknown>;
  const apiVersion = textOf(tree, "apiVersion", place) ?? listKind?.apiVersion;
  const kind = textOf(tree, "kind", place) ?? listKind?.kind;
  for (const [field, text] of Object.entries({ apiVersion, kind }))
    if (text === undefined) throw new InputError([`${placeText(place)}: ${field} is missing`]);
  if (kind?.endsWith("List") && "items" in tree) {
    const { items } = tree;
    if (!Array.isArray(items) && items !== null)
      throw new InputError([`${placeText(place)}: items of a ${kind} must be a list`]);
    // Which item has them is not known.
    if (duplicates.length > 0)
      throw new InputError(duplicates.map((duplicate) => `${placeText(place)}: ${duplicate}`));
    // What the API answers in one list says its kind only once.
    const own =
      kind === "List" ? undefined : { apiVersion: apiVersion!, kind: kind.slice(0, -"List".length) };
    return (items ?? []).flatMap((item: unknown, index: number) =>
      draftsOf(item, { ...place, item: index + 1 }, [], own),
    );
  }
  return [{ place, tree, apiVersion: apiVersion!, kind: kind!, duplicates }];
}

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
}

function textOf(tree: Readonly<Record<string, unknown>>, field: string, place: Place): string | undefined {
  const value = tree[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new InputError([`${placeText(place)}: ${field} must be a text, and is ${jsonText(value)}`]);
}
