import { quoted } from "../text/quoted.ts";
import { Documents, isMerge, type MappingNode, type YAMLNode } from "./node.ts";

/**
 * Returns the line, from 1 on, of a value: of its key in a map, of its beginning in a list. `path` is written
 * as field errors write it (`spec.containers[0].name`, `metadata.labels[a/b]`, `data.tls.crt`). A path that
 * is missing has the line of the nearest value above it. Undefined if the text cannot be read up to that
 * document.
 */
export type LineFinder = (document: number, path: string) => number | undefined;

/** Finds the lines of values in a YAML or JSON text. The text is read when the first line is asked for. */
export function lineFinder(text: string): LineFinder {
  let documents: readonly YAMLNode[] | undefined;
  return (document, path) => {
    documents ??= nodesOf(text);
    const root = documents[document - 1];
    return root && lineOf(root, path) + 1;
  };
}

/** The documents up to a mistake. */
function nodesOf(text: string): YAMLNode[] {
  const nodes: YAMLNode[] = [];
  try {
    const documents = new Documents(text.startsWith("\ufeff") ? text.slice(1) : text);
    for (let node = documents.next(); node !== undefined; node = documents.next()) nodes.push(node);
  } catch {
    // The reader of the values reports it.
  }
  return nodes;
}

function lineOf(root: YAMLNode, path: string): number {
  let found: Step = { node: root, line: root.line, rest: path };
  for (;;) {
    const next = stepInto(found.node, found.rest.replace(/^\./, ""));
    if (next === undefined) return found.line;
    found = next;
  }
}

interface Step {
  readonly node: YAMLNode;
  readonly line: number;
  /** The rest of the path. */
  readonly rest: string;
}

function stepInto(node: YAMLNode, path: string): Step | undefined {
  if (path === "") return undefined;
  switch (node.type) {
    case "alias":
      return stepInto(node.target, path);
    case "scalar":
      return undefined;
    case "sequence": {
      const match = /^\[(\d+)\]/.exec(path);
      if (match === null) return undefined;
      const item = node.items[Number(match[1])];
      return item && { node: item, line: item.line, rest: path.slice(match[0].length) };
    }
    case "mapping":
      return ownEntry(node, path) ?? mergedEntry(node, path);
  }
}

/** The entry whose key the path begins with; keys may have dots in them, so the longest. */
function ownEntry({ items }: MappingNode, path: string): Step | undefined {
  let best: Step | undefined;
  for (let index = 0; index < items.length; index += 2) {
    const [key, node] = [items[index]!, items[index + 1]!];
    if (key.type !== "scalar") continue;
    const rest = afterKey(path, key.text);
    // The last value of a repeated key counts.
    if (rest !== undefined && (best === undefined || rest.length <= best.rest.length))
      best = { node, line: key.line, rest };
  }
  return best;
}

/** The rest of a path after a key; undefined if the path does not begin with the key. */
function afterKey(path: string, key: string): string | undefined {
  for (const form of [`[${key}]`, `[${quoted(key)}]`]) {
    if (path.startsWith(form)) return path.slice(form.length);
  }
  if (key === "" || !path.startsWith(key)) return undefined;
  const rest = path.slice(key.length);
  return rest === "" || rest.startsWith(".") || rest.startsWith("[") ? rest : undefined;
}

function mergedEntry({ items }: MappingNode, path: string): Step | undefined {
  for (let index = 0; index < items.length; index += 2) {
    if (!isMerge(items[index]!)) continue;
    const value = items[index + 1]!;
    const parts = value.type === "sequence" ? value.items : [value];
    for (const part of parts) {
      const map = part.type === "alias" ? part.target : part;
      const found = map.type === "mapping" ? (ownEntry(map, path) ?? mergedEntry(map, path)) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
