import { type Finding, type Source, walk } from "./source.ts";

/** Maximum number of columns of a line with a comment. */
export const maxColumns = 110;

interface Construction {
  readonly pattern: RegExp;
  readonly advice: string;
}

/** Constructions that have to be translated while they are read, and what to write instead. */
const constructions: readonly Construction[] = [
  {
    // Not a question.
    pattern: /(?:^|[.:;] )(?:What|Who|Whoever|Whatever) [^.?]*(?:[^.?]|\.(?!\s|$))*(?=\.|$)/,
    advice: 'begin with a noun or a verb, not with "What" or "Who"',
  },
  { pattern: /^(?:Answers|Tells|Knows|Bears|Hears) /, advice: 'write "Returns", "Reports" or "Holds"' },
  {
    pattern: /\b(?:is|are|was|were|be|as) none\b/,
    advice: 'write "is not a ...", "is invalid", "is missing" or "does not exist"',
  },
  {
    pattern: /\b(?:be|been|is|are|was|were) told\b(?! apart)/,
    advice: 'write "receives", "is given" or "is reported"',
  },
];

/** Words of names that the field has other terms for. Upstream's own names stay. */
const names: readonly Construction[] = [
  // Not of the most recent, the least disruptive, nor the field `mostOnOneNode` of `dray plan -o json`.
  { pattern: /^(?:most|longest)(?!Recent|Promising|OnOneNode)[A-Z]/, advice: "name a limit maxX" },
  { pattern: /^least(?!Disruptive|Recent)[A-Z]/, advice: "name a limit minX" },
  { pattern: /^told$|^told[A-Z]|Told$/, advice: "say what was reported or sent, and to whom" },
  { pattern: /^patience$|Patience$/, advice: "name it timeout" },
];

/** Most files have none of these, and need no syntax tree. */
const mentioned = /[mM]ost|[lL]ongest|[lL]east|[tT]old|[pP]atience/;

const identifierTypes: ReadonlySet<string> = new Set(["Identifier", "PrivateIdentifier"]);

/** Comments and names that are read in one go. */
export function language(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) => [...comments(source), ...identifiers(source), ...wideComments(source)]);
}

function comments(source: Source): Finding[] {
  return blocks(source).flatMap(({ start, text }) =>
    constructions
      .filter(({ pattern }) => pattern.test(text))
      .map(({ advice }) => ({
        path: source.path,
        line: source.lineAt(start),
        text: `${advice}: ${text.length > 100 ? `${text.slice(0, 100)}...` : text}`,
      })),
  );
}

/** Comments without their marks; `//` on lines that follow each other are one. */
function blocks(source: Source): { readonly start: number; readonly text: string }[] {
  const found: { start: number; end: number; text: string }[] = [];
  for (const { type, value, start, end } of source.comments) {
    const text = value
      .split("\n")
      .map((line) => line.trim().replace(/^\*+ ?/, ""))
      .join(" ")
      .trim();
    const before = found.at(-1);
    if (type === "Line" && before !== undefined && /^\n[ \t]*$/.test(source.text.slice(before.end, start))) {
      before.text += ` ${text}`;
      before.end = end;
    } else found.push({ start, end, text });
  }
  return found;
}

function identifiers(source: Source): Finding[] {
  const found = new Map<string, Finding>();
  if (!mentioned.test(source.text)) return [];
  walk(source.program, ({ type, name, start }) => {
    if (!identifierTypes.has(type) || typeof name !== "string" || found.has(name)) return;
    const advice = names.find(({ pattern }) => pattern.test(name))?.advice;
    if (advice !== undefined)
      found.set(name, { path: source.path, line: source.lineAt(start), text: `${name}: ${advice}` });
  });
  return [...found.values()];
}

function wideComments(source: Source): Finding[] {
  const findings: Finding[] = [];
  for (const { start, end } of source.comments) {
    const first = source.lineAt(start);
    const from = source.text.lastIndexOf("\n", start) + 1;
    const to = source.text.indexOf("\n", end);
    for (const [i, line] of source.text
      .slice(from, to < 0 ? undefined : to)
      .split("\n")
      .entries())
      if (line.length > maxColumns && !/:\/\/|biome-ignore/.test(line))
        findings.push({
          path: source.path,
          line: first + i,
          text: `a comment of ${line.length} columns: more than ${maxColumns}`,
        });
  }
  return findings;
}
