import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  Pair,
  parseDocument,
  Scalar,
  YAMLMap,
  YAMLSeq,
} from "yaml";
import { hasAlias, keyOf, mapOf, pairOf } from "./nodes.ts";

/** One document of a text: its source and its nodes. */
export interface Part {
  /** As written, with its `---`. */
  readonly source: string;
  /** The line `---` before it, with its comment. */
  readonly header: string;
  readonly document: Document.Parsed;
  /** Trailing comments and empty lines. */
  readonly footer: string;
  /** Returns the line of a node in the whole text, from 1 on. */
  lineOf(node: unknown): number;
}

/** A text that is not YAML. */
export class TextError extends Error {
  override readonly name = "TextError";
  /** From 1 on. */
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/**
 * Maximum number of nodes that the aliases of one document may expand to, so that a few bytes do not become
 * gigabytes.
 */
const maxExpanded = 100_000;

/**
 * Returns the documents of a text; of empty ones only the source. All scalars are texts, so that they are
 * printed unchanged. Throws TextError.
 */
export function partsOf(text: string): readonly (Part | string)[] {
  let line = 0;
  return text.split(/^(?=---(?:\s|$))/m).map((source) => {
    const before = line;
    line += source.split("\n").length - 1;
    // Only comments, directives and empty lines.
    if (!/^(?!\s*(?:#|%|---[ \t]*(?:#.*)?$|$))/m.test(source)) return source;
    const header = /^---[ \t]*(?:#.*)?\n/.exec(source)?.[0] ?? "";
    const lines = new LineCounter();
    const footer = footerOf(source.slice(header.length));
    const body = source.slice(header.length, source.length - footer.length);
    const document = parseDocument(body, { schema: "failsafe", lineCounter: lines, keepSourceTokens: false });
    const offset = before + (header === "" ? 0 : 1);
    const [error] = document.errors;
    if (error !== undefined) {
      const [first = "is not YAML"] = error.message.split(/ at line \d+/);
      throw new TextError(offset + lines.linePos(error.pos[0]).line, first);
    }
    expandAliases(document);
    const lineOf = (node: unknown): number => {
      const range = (node as { range?: readonly number[] | null } | null | undefined)?.range;
      return offset + (range ? lines.linePos(range[0]!).line : 1);
    };
    return { source, header, document, footer, lineOf };
  });
}

/**
 * Separated, since the yaml package would insert an empty line. A scalar with a kept line end owns the lines
 * after it.
 */
function footerOf(body: string): string {
  if (/[|>]\d?\+/.test(body)) return "";
  const lines = body.split("\n");
  let first = lines.length;
  while (first > 0 && /^(?:#|[ \t]*$)/.test(lines[first - 1]!)) first--;
  const footer = lines.slice(first).join("\n");
  return footer.includes("#") ? footer : "";
}

/** Replaces aliases and merge keys by copies, so that a change applies to one place only. */
function expandAliases(document: Document.Parsed): void {
  if (!hasAlias(document.contents)) return;
  let left = maxExpanded;
  const copy = (node: unknown): unknown => {
    if (left-- < 0) throw new TextError(1, `its aliases expand to more than ${maxExpanded} values`);
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (target === undefined) throw new TextError(1, `there is no anchor "${node.source}"`);
      const made = copy(target) as { comment?: string | null; commentBefore?: string | null };
      if (node.comment) made.comment = node.comment;
      return made;
    }
    if (isPair(node)) return new Pair(copy(node.key), copy(node.value));
    if (isScalar(node)) {
      const made = node.clone() as Scalar;
      delete made.anchor;
      made.range = node.range ?? null;
      return made;
    }
    if (isCollection(node)) {
      const made = Object.assign(isMap(node) ? new YAMLMap() : new YAMLSeq(), node) as YAMLMap | YAMLSeq;
      delete made.anchor;
      made.items = node.items.map(copy) as Pair[];
      if (isMap(made)) merge(made);
      return made;
    }
    return node;
  };
  document.contents = copy(document.contents) as typeof document.contents;
}

/** Returns the keys of `<<` that the map itself lacks. */
function merge(map: YAMLMap): void {
  const at = map.items.findIndex((pair) => keyOf(pair) === "<<");
  if (at === -1) return;
  const { value } = map.items[at]!;
  const sources = isSeq(value) ? value.items : [value];
  const more: Pair[] = [];
  for (const source of sources)
    for (const pair of mapOf(source)?.items ?? [])
      if (pairOf(map, keyOf(pair)) === undefined && !more.some((one) => keyOf(one) === keyOf(pair)))
        more.push(pair);
  map.items.splice(at, 1, ...more);
}

/**
 * Switches flow collections with block collections inside to block style. Returns whether the node is in
 * block style.
 */
export function useBlockStyle(node: unknown): boolean {
  if (isPair(node)) return useBlockStyle(node.value);
  if (!isCollection(node)) return false;
  // Visits every item, without short circuit.
  const below = node.items.filter(useBlockStyle).length > 0;
  if (below) node.flow = false;
  return node.flow !== true && node.items.length > 0;
}

/** Reports whether a text is JSON rather than YAML. */
export function isJSONText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Formats a document as JSON; keeps numbers as written. */
export function jsonOf(document: Document, indent: string): string {
  const print = (node: unknown, depth: string): string => {
    const deeper = depth + indent;
    const all = (open: string, items: readonly string[], close: string): string => {
      if (items.length === 0) return open + close;
      if (indent === "") return open + items.join(",") + close;
      return `${open}\n${items.map((item) => deeper + item).join(",\n")}\n${depth}${close}`;
    };
    if (isMap(node)) {
      const colon = indent === "" ? ":" : ": ";
      const pairs = node.items.map((pair) => JSON.stringify(keyOf(pair)) + colon + print(pair.value, deeper));
      return all("{", pairs, "}");
    }
    if (isSeq(node)) {
      return all(
        "[",
        node.items.map((item) => print(item, deeper)),
        "]",
      );
    }
    const text = isScalar(node) ? String(node.value ?? "") : "null";
    const isWord = isScalar(node) && node.type === Scalar.PLAIN && /^(?:-?\d.*|true|false|null)$/.test(text);
    return isWord || !isScalar(node) ? text : JSON.stringify(text);
  };
  return print(document.contents, "");
}

/** Returns the indentation style of a text, for new parts. */
export function styleOf(text: string): {
  readonly indent: number;
  readonly indentSeq: boolean;
  readonly flowCollectionPadding: boolean;
} {
  const list = /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*( *)- /m.exec(text);
  const nested = /^[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n( +)[^\s#-]/m.exec(text);
  return {
    indent: Math.max(1, nested?.[1]?.length ?? 2),
    indentSeq: list !== null && list[2]!.length > list[1]!.length,
    flowCollectionPadding: !/(?:^|[\s:-])[{[][^\s{}[\]]/.test(text),
  };
}
