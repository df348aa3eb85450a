import { type Finding, isNode, type Node, type Source, walk } from "./source.ts";

/** Maximum number of columns of a line with a comment. */
export const maxColumns = 110;

const headless = 'begin with a noun or a verb, not with "What" or "Who"';

interface Construction {
  readonly pattern: RegExp;
  readonly advice: string;
}

/** Constructions that have to be translated while they are read, and what to write instead. */
const constructions: readonly Construction[] = [
  {
    // Not of a comparison, as in "no longer" and "no greater than".
    pattern:
      /(?<!\bthere (?:\w+ )?)\b(?:is|are|was|were|be) no (?!longer|more|less|fewer|later|earlier|greater|smaller|larger|lower|higher|other)/i,
    advice: 'write "is not a ...", "has no ..." or "there is no ..."',
  },
  {
    pattern: /\b(?:(?:is|are|was|were|be) (?:none|nobody)|as none)\b/,
    advice: 'write "is not a ...", "is invalid", "is missing" or "does not exist"',
  },
  {
    pattern: /\bso (?:many|much)\b(?! (?:\w+ )?that\b)/i,
    advice: "name the number or the parameter that holds it",
  },
];

/** Constructions of comments alone. */
const commentConstructions: readonly Construction[] = [
  ...constructions,
  {
    // Not a clause before a comma.
    pattern: /(?:^|[.:;] )(?:Where|Of) (?:[^,.;:]|\.(?!\s|$))*(?=[.;:]?$|[.;:] )/,
    advice: 'write a sentence, or begin with a noun instead of "Where" or "Of"',
  },
  {
    // Not a question.
    pattern: /(?:^|[.:;] )(?:What|Who|Whoever|Whatever) [^.?]*(?:[^.?]|\.(?!\s|$))*(?=\.|$)/,
    advice: headless,
  },
  { pattern: /^(?:Answers|Tells|Knows|Bears|Hears) /, advice: 'write "Returns", "Reports" or "Holds"' },
  {
    pattern: /\b(?:be|been|is|are|was|were) told\b(?! apart)/,
    advice: 'write "receives", "is given" or "is reported"',
  },
];

/** Constructions of titles alone: there is less room around them that would explain the words. */
const titleConstructions: readonly Construction[] = [
  ...constructions,
  { pattern: /(?:^|[.:;] )(?:what|who|whoever|whatever) /i, advice: headless },
  { pattern: /\btold\b(?! apart)/i, advice: 'write "receives", "is given" or "is reported"' },
  { pattern: /\b(?:nobody|bears)\b/i, advice: 'write "unused", "no other ..." or "supports"' },
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

/** A comment or a title, without its marks. */
interface Passage {
  readonly start: number;
  readonly text: string;
}

/** Comments, titles of tests and names that are read in one go. */
export function language(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) => [
    ...found(source, blocks(source), commentConstructions),
    ...found(source, titles(source), titleConstructions),
    ...identifiers(source),
    ...wideComments(source),
  ]);
}

function found(
  source: Source,
  passages: readonly Passage[],
  wanted: readonly Construction[],
): readonly Finding[] {
  return passages.flatMap(({ start, text }) =>
    wanted
      .filter(({ pattern }) => pattern.test(text))
      .map(({ advice }) => ({
        path: source.path,
        line: source.lineAt(start),
        text: `${advice}: ${text.length > 100 ? `${text.slice(0, 100)}...` : text}`,
      })),
  );
}

const titled: ReadonlySet<unknown> = new Set(["test", "describe", "it"]);

/** Most files have no title with one of these words, and need no syntax tree. */
const suspected =
  /\b(?:test|describe|it)\(\s*["'`].*(?:\b(?:is|are|was|were|be|as) no|nobody|\bso m|told|bears|wh[ao])/i;

/** Titles of tests and suites: texts and templates that are the first argument. */
function titles(source: Source): Passage[] {
  if (!suspected.test(source.text)) return [];
  const passages: Passage[] = [];
  walk(source.program, ({ type, callee, arguments: given }) => {
    if (type !== "CallExpression" || !isNode(callee) || !titled.has(callee["name"])) return;
    const [title] = given as readonly Node[];
    if (title?.type === "TemplateLiteral" || typeof title?.["value"] === "string")
      passages.push({ start: title.start, text: source.text.slice(title.start + 1, title.end - 1) });
  });
  return passages;
}

/** Comments without their marks; `//` on lines that follow each other are one. */
function blocks(source: Source): Passage[] {
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
          text: `a comment of ${line.length} columns: more than ${maxColumns}; scripts/rules/wrap.ts fills it anew`,
        });
  }
  return findings;
}
