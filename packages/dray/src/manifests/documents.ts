import { JSONError, parseJSONTree, type TextNotes } from "@dray/api/codec";
import { parseYAMLDocuments, YAMLError, type YAMLTree } from "@dray/api/yaml";
import type { Progress } from "../terminal/progress.ts";
import { jsonText } from "./json-text.ts";
import { type Place, positionOf } from "./place.ts";
import type { Problem } from "./problem.ts";
import { type Source, sourceOf } from "./source.ts";

/** An object as written. */
export interface Draft {
  readonly place: Place;
  readonly tree: Readonly<Record<string, unknown>>;
  readonly apiVersion: string;
  readonly kind: string;
  /** Duplicate keys, in the words of strict validation. */
  readonly duplicates: readonly string[];
  /** Notes of the JSON parser; absent for YAML. */
  readonly notes?: TextNotes | undefined;
}

export interface Drafts {
  readonly drafts: readonly Draft[];
  readonly problems: readonly Problem[];
}

/**
 * Reads the objects of a text, including the items of lists. Continues with the next document after a syntax
 * error.
 */
export function readDrafts(source: Source): Drafts {
  const problems: Problem[] = [];
  const drafts = parse(source, problems).flatMap(({ source, tree, notes }) => {
    const { value, document, duplicates } = tree;
    const found = draftsOf(value, { source, document, root: "" }, problems, { duplicates });
    return notes === undefined ? found : found.map((draft) => ({ ...draft, notes }));
  });
  return { drafts, problems };
}

/** Maximum length of a text that is read without progress, in characters. */
const quickText = 2 * 1024 * 1024;

/** Reads the objects of texts. Shows progress before a long one, which blocks the event loop. */
export function readAllDrafts(sources: readonly Source[], progress?: Progress): Drafts[] {
  return sources.map((source) => {
    if (source.text.length > quickText) progress?.show(`Reading ${source.file}`);
    return readDrafts(source);
  });
}

interface Parsed {
  readonly source: Source;
  readonly tree: YAMLTree;
  readonly notes?: TextNotes;
}

function parse(source: Source, problems: Problem[]): Parsed[] {
  const { file, text } = source;
  const json = file.endsWith(".json");
  if (json || text.trimStart().startsWith("{")) {
    try {
      const { value, notes } = parseJSONTree(text);
      return [{ source, tree: { value, document: 1, duplicates: [] }, notes }];
    } catch (error) {
      if (!(error instanceof JSONError)) throw error;
      // Text that starts with a brace may still be YAML.
      if (json) {
        const line = text.slice(0, error.at).split("\n").length;
        problems.push({ rule: "syntax", file, line, message: `is not JSON: ${error.message}` });
        return [];
      }
    }
  }
  try {
    return parseYAMLDocuments(text).map((tree) => ({ source, tree }));
  } catch (error) {
    if (!(error instanceof YAMLError)) throw error;
    return parseSeparately(source, problems);
  }
}

/** Reads each document separately, so that an error in one does not hide the others. */
function parseSeparately({ file, text }: Source, problems: Problem[]): Parsed[] {
  const parsed: Parsed[] = [];
  let document = 0;
  let line = 0;
  for (const part of text.split(/^(?=---(?:\s|$))/m)) {
    // Only comments may precede the first `---`.
    const hasContent = part.startsWith("---") || /^(?!\s*(?:#|$))/m.test(part);
    if (hasContent) {
      document++;
      const number = document;
      const padded = sourceOf(file, "\n".repeat(line) + part);
      // The source has one document, whatever its number in the file.
      const source: Source = { ...padded, lineOf: (_document, path) => padded.lineOf(1, path) };
      try {
        for (const tree of parseYAMLDocuments(padded.text))
          parsed.push({ source, tree: { ...tree, document: number } });
      } catch (error) {
        if (!(error instanceof YAMLError)) throw error;
        problems.push(syntaxProblem(error, part, { file, document, line: error.line ?? line + 1 }));
      }
    }
    line += part.split("\n").length - 1;
  }
  return parsed;
}

function syntaxProblem(
  error: YAMLError,
  part: string,
  { file, document, line }: { readonly file: string; readonly document: number; readonly line: number },
): Problem {
  const template = part.split("\n").some((text) => text.includes("{{"));
  return {
    rule: "syntax",
    file,
    document,
    line,
    message: `is not YAML: ${error.message.replace(/^yaml: (?:line \d+: )?/, "")}`,
    ...(template && {
      hints: [
        "a template of Helm is rendered first: `helm template CHART`, whose output standard input (-) takes",
      ],
    }),
  };
}

function draftsOf(
  value: unknown,
  place: Place,
  problems: Problem[],
  {
    duplicates = [],
    listKind,
  }: { readonly duplicates?: readonly string[]; readonly listKind?: Kind | undefined } = {},
): Draft[] {
  const report = (message: string, path = ""): Draft[] => {
    problems.push({ rule: "syntax", ...positionOf(place, path), message });
    return [];
  };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const what = Array.isArray(value) ? "a list" : value === null ? "nothing" : `a ${typeof value}`;
    return report(`must be a Kubernetes object with apiVersion, kind and metadata, and is ${what}`);
  }
  const tree = value as Record<string, unknown>;
  const own: { apiVersion?: string | undefined; kind?: string | undefined } = {};
  for (const field of ["apiVersion", "kind"] as const) {
    const text = tree[field];
    if (typeof text !== "string" && text !== undefined && text !== null)
      return report(`${field} must be a text, and is ${jsonText(text)}`, field);
    own[field] = text || listKind?.[field];
  }
  const { apiVersion, kind } = own;
  if (apiVersion === undefined) return report("apiVersion is missing");
  if (kind === undefined) return report("kind is missing");
  if (kind.endsWith("List") && "items" in tree) {
    const { items } = tree;
    if (!Array.isArray(items) && items !== null) return report(`items of a ${kind} must be a list`, "items");
    // The item with them is unknown.
    for (const duplicate of duplicates) problems.push(duplicateProblem(duplicate, place));
    // A list of the API has the kind of its items only once.
    const itemKind = kind === "List" ? undefined : { apiVersion, kind: kind.slice(0, -"List".length) };
    const root = place.root === "" ? "items" : `${place.root}.items`;
    return (items ?? []).flatMap((item: unknown, index: number) =>
      draftsOf(item, { ...place, item: index + 1, root: `${root}[${index}]` }, problems, {
        listKind: itemKind,
      }),
    );
  }
  return [{ place, tree, apiVersion, kind, duplicates }];
}

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** `duplicate`: the text of the YAML reader, with its line. */
export function duplicateProblem(duplicate: string, place: Place, object?: string): Problem {
  const [, line, message = duplicate] = /^line (\d+): (.*)$/s.exec(duplicate) ?? [];
  return {
    rule: "duplicate-key",
    ...positionOf(place),
    ...(line !== undefined && { line: Number(line) }),
    ...(object !== undefined && { object }),
    message,
  };
}
