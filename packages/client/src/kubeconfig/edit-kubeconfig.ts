import { isDeepStrictEqual } from "node:util";
import { type Document, isMap, isScalar, isSeq, type Pair, parseDocument, stringify, YAMLSeq } from "yaml";

/** The lists of a kubeconfig, each with the field that contains the value of an entry. */
const lists = { clusters: "cluster", contexts: "context", users: "user" } as const;
type List = keyof typeof lists;
const listNames = Object.keys(lists) as List[];

/** The value of an entry in a kubeconfig. */
export type EntryValue = Readonly<Record<string, unknown>>;

export interface KubeconfigEdit {
  /** New values of the cluster, context and user with this name. */
  readonly set?: { readonly name: string; readonly entries: KubeconfigEntries };
  /** The name of the cluster, context and user to remove. */
  readonly remove?: string;
  /** The new current context; "" for none. */
  readonly currentContext?: string;
}

/** The values of a cluster, context and user. */
export type KubeconfigEntries = Readonly<Record<List, EntryValue>>;

/**
 * Edits the text of a kubeconfig. All other lines stay unchanged, comments and order included, and JSON stays
 * JSON. Returns the same text if the edit changes nothing.
 *
 * Throws an error with the reason if the text is not a kubeconfig.
 */
export function editKubeconfig(text: string, edit: KubeconfigEdit): string {
  const document = parseKubeconfig(text);
  const before = (document.toJS() ?? {}) as Config;
  const after = applyEdit(before, edit);
  if (isDeepStrictEqual(before, after)) return text;
  const json = asJson(text, after);
  if (json !== undefined) return json;
  const spliced = splice(text, document, before, after);
  if (spliced !== undefined && sameContent(spliced, after)) return spliced;
  // For a layout without lines, such as [a, b].
  rewrite(document, before, after);
  return document.toString({ lineWidth: 0 });
}

/** The entries of a kubeconfig. */
export interface KubeconfigContent {
  /** "" if it is not set. */
  readonly currentContext: string;
  /** It has no cluster, context or user. */
  readonly isEmpty: boolean;
  /** Returns the entries with this name. */
  entries(name: string): Partial<KubeconfigEntries>;
}

/** Reads a kubeconfig, but not the files that it names. Throws like `editKubeconfig`. */
export function readKubeconfigContent(text: string): KubeconfigContent {
  const config = (parseKubeconfig(text).toJS() ?? {}) as Config;
  return {
    currentContext: config["current-context"] ?? "",
    isEmpty: listNames.every((list) => (config[list] ?? []).length === 0),
    entries(name) {
      const found: Partial<Record<List, EntryValue>> = {};
      for (const list of listNames) {
        const entry = config[list]?.find((one) => one.name === name);
        if (entry !== undefined) found[list] = (entry[lists[list]] ?? {}) as EntryValue;
      }
      return found;
    },
  };
}

type Entry = { readonly name?: unknown } & Readonly<Record<string, unknown>>;
type Config = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly "current-context"?: string;
} & { readonly [list in List]?: readonly Entry[] | null };

function parseKubeconfig(text: string): Document {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw new Error(error.message.trim());
  if (document.contents !== null && !isMap(document.contents) && document.toJS() !== null)
    throw new Error("it must be an object with clusters, contexts and users");
  const config = (document.toJS() ?? {}) as Readonly<Record<string, unknown>>;
  for (const list of listNames) {
    const value = config[list] ?? [];
    const named = (entry: unknown): boolean => typeof entry === "object" && entry !== null && "name" in entry;
    if (!Array.isArray(value) || !value.every(named))
      throw new Error(`${list} must be a list of objects with a name`);
  }
  const current = config["current-context"] ?? "";
  if (typeof current !== "string") throw new Error("current-context must be a text");
  return document;
}

function applyEdit(config: Config, { set, remove, currentContext }: KubeconfigEdit): Config {
  const result: Record<string, unknown> = { ...config };
  for (const list of listNames) {
    let entries = config[list] ?? [];
    if (set !== undefined) entries = withEntry(entries, lists[list], set.name, set.entries[list]);
    if (remove !== undefined) entries = entries.filter((entry) => entry.name !== remove);
    if (!isDeepStrictEqual(entries, config[list] ?? [])) result[list] = entries;
  }
  if (currentContext !== undefined && currentContext !== (config["current-context"] ?? ""))
    result["current-context"] = currentContext;
  // For a new file.
  if (Object.keys(config).length === 0 && Object.keys(result).length > 0)
    return { apiVersion: "v1", kind: "Config", ...result };
  return result as Config;
}

function withEntry(list: readonly Entry[], field: string, name: string, value: EntryValue): readonly Entry[] {
  const index = list.findIndex((entry) => entry.name === name);
  const found = list[index];
  if (found === undefined) return [...list, { [field]: value, name }];
  // Keeps what others have added to the entry, such as the namespace of a context.
  const old = found[field] as EntryValue | undefined;
  const extensions = [...extensionsOf(value)];
  for (const one of extensionsOf(old))
    if (!extensions.some(({ name }) => name === one.name)) extensions.push(one);
  const merged = { ...old, ...value, ...(extensions.length > 0 && { extensions }) };
  return list.with(index, { ...found, [field]: merged });
}

function extensionsOf(value: EntryValue | undefined): readonly Entry[] {
  return (value?.["extensions"] as readonly Entry[] | null | undefined) ?? [];
}

/** Returns the config as JSON with the indentation of `text`; undefined if that is not JSON. */
function asJson(text: string, config: Config): string | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const indent = /^\{\s*?\n([ \t]+)"/.exec(text.trimStart())?.[1] ?? "";
  const json = `${JSON.stringify(config, null, indent)}${text.endsWith("\n") ? "\n" : ""}`;
  // JSON.stringify changes some values, such as -0.
  return sameContent(json, config) ? json : undefined;
}

function sameContent(text: string, config: Config): boolean {
  const document = parseDocument(text);
  return document.errors.length === 0 && isDeepStrictEqual(document.toJS(), config);
}

/** Replaces `text.slice(start, end)`. */
interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Changes only the lines that differ. Returns undefined if the layout does not allow that. */
function splice(text: string, document: Document, before: Config, after: Config): string | undefined {
  const root = isMap(document.contents) ? document.contents : undefined;
  if (root?.flow) return undefined;
  const lines = new Lines(text);
  const indent = root?.range ? lines.column(root.range[0]) : "";
  const end = root?.range ? lines.next(root.range[1]) : text.length;
  const splices: Splice[] = [];
  for (const key of Object.keys(after) as (keyof Config)[]) {
    if (isDeepStrictEqual(before[key], after[key])) continue;
    const pair = root?.items.find((one) => isScalar(one.key) && one.key.value === key);
    const value = after[key];
    const changes =
      pair === undefined
        ? [{ start: end, end, text: lines.block(stringify({ [key]: value }, style), indent) }]
        : Array.isArray(value)
          ? listSplices(
              lines,
              pair,
              { before: (before[key] ?? []) as readonly Entry[], after: value },
              indent,
            )
          : scalarSplices(lines, pair, value);
    if (changes === undefined) return undefined;
    for (const each of changes) splices.push(each);
  }
  return lines.apply(splices);
}

const style = { lineWidth: 0, indentSeq: false, aliasDuplicateObjects: false } as const;

function scalarSplices(lines: Lines, pair: Pair, value: unknown): Splice[] | undefined {
  const text = stringify(value, style).trimEnd();
  if (isScalar(pair.value) && pair.value.range && pair.value.range[1] > pair.value.range[0])
    return [{ start: pair.value.range[0], end: pair.value.range[1], text }];
  const colon = lines.colonOf(pair);
  return colon === undefined ? undefined : [{ start: colon, end: colon, text: ` ${text}` }];
}

/** Returns the changes for one entry that is added to a list, replaced, or removed. */
function listSplices(
  lines: Lines,
  pair: Pair,
  { before, after }: { readonly before: readonly Entry[]; readonly after: readonly Entry[] },
  indent: string,
): Splice[] | undefined {
  const list = pair.value;
  const colon = lines.colonOf(pair);
  if (colon === undefined) return undefined;
  if (before.length === 0) {
    // `[]`, `null` or no value.
    const range = isSeq(list) || isScalar(list) ? list.range : undefined;
    if (list !== null && !range) return undefined;
    const [start, end] = range ?? [colon, colon];
    const next = lines.next(end);
    return [
      { start: lines.trimmed(start, colon), end, text: "" },
      { start: next, end: next, text: lines.block(stringify(after, style), indent) },
    ];
  }
  if (!isSeq(list) || list.flow) return undefined;
  const index = before.findIndex((entry, i) => !isDeepStrictEqual(entry, after[i]));
  const node = list.items[index < 0 ? list.items.length - 1 : index] as { range?: [number, number, number] };
  if (!node?.range) return undefined;
  const dash = lines.dashBefore(node.range[0]);
  const next = lines.next(node.range[1]);
  const column = lines.column(dash);
  if (index < 0) {
    const added = stringify(after.slice(before.length), style);
    return [{ start: next, end: next, text: lines.block(added, column) }];
  }
  const start = dash - column.length;
  if (after.length === before.length) {
    return [{ start, end: next, text: lines.block(stringify([after[index]], style), column) }];
  }
  const removed = { start, end: next, text: "" };
  return after.length === 0 ? [{ start: colon, end: colon, text: " []" }, removed] : [removed];
}

/** Finds offsets in a text by its lines. */
class Lines {
  readonly #text: string;
  readonly #newline: string;

  constructor(text: string) {
    this.#text = text;
    this.#newline = text.includes("\r\n") ? "\r\n" : "\n";
  }

  /** Returns as many blanks as the offset has characters before it in its line. */
  column(offset: number): string {
    return " ".repeat(offset - (this.#text.lastIndexOf("\n", offset - 1) + 1));
  }

  /** Returns the start of the next line, or the offset itself if it is the start of a line. */
  next(offset: number): number {
    if (this.#text[offset - 1] === "\n") return offset;
    const newline = this.#text.indexOf("\n", offset);
    return newline < 0 ? this.#text.length : newline + 1;
  }

  dashBefore(offset: number): number {
    return this.#text.lastIndexOf("-", offset - 1);
  }

  /** Returns the offset after the colon of a key. */
  colonOf(pair: Pair): number | undefined {
    const range = isScalar(pair.key) ? pair.key.range : undefined;
    return range ? this.#text.indexOf(":", range[1]) + 1 : undefined;
  }

  /** Moves the offset back over blanks, at most to `min`. */
  trimmed(offset: number, min: number): number {
    let trimmed = offset;
    while (trimmed > min && /[ \t]/.test(this.#text[trimmed - 1]!)) trimmed--;
    return trimmed;
  }

  /** Indents lines of YAML, and gives them the newlines of the text. */
  block(text: string, indent: string): string {
    return text.replaceAll(/^(?=.)/gm, indent).replaceAll("\n", this.#newline);
  }

  /** Applies the changes. Returns undefined if two of them overlap. */
  apply(splices: readonly Splice[]): string | undefined {
    let result = "";
    let at = 0;
    for (const { start, end, text } of splices.toSorted((a, b) => a.start - b.start)) {
      if (start < at) return undefined;
      result += this.#text.slice(at, start);
      const startsLine = text.endsWith("\n") && result !== "" && !result.endsWith("\n");
      result += (startsLine ? this.#newline : "") + text;
      at = end;
    }
    return result + this.#text.slice(at);
  }
}

/** Changes the syntax tree instead of the text: keeps comments, but not all blanks. */
function rewrite(document: Document, before: Config, after: Config): void {
  if (!isMap(document.contents)) document.contents = document.createNode({});
  for (const key of Object.keys(after) as (keyof Config)[]) {
    const [old, value] = [before[key], after[key]];
    if (isDeepStrictEqual(old, value)) continue;
    const list = document.get(key);
    if (!Array.isArray(value) || !(list instanceof YAMLSeq) || !Array.isArray(old)) {
      document.set(key, document.createNode(value));
      continue;
    }
    const index = old.findIndex((entry, i) => !isDeepStrictEqual(entry, value[i]));
    if (index < 0) list.add(document.createNode(value.at(-1)));
    else if (value.length < old.length) list.delete(index);
    else list.set(index, document.createNode(value[index]));
  }
}
