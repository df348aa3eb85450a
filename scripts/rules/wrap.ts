// `node scripts/node24.js scripts/rules/wrap.ts PATH...` fills the comments below these paths anew that are
// wider than the language rule allows.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { maxColumns } from "./language.ts";
import { createSource, readSources, type Source } from "./source.ts";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The text of a source with its wide comments filled anew. Comments behind code stay as they are. */
export function wrapComments(source: Source): string {
  const { text } = source;
  let wrapped = "";
  let from = 0;
  for (const { start, end, text: comment } of [...docComments(source), ...lineComments(source)].sort(
    (a, b) => a.start - b.start,
  )) {
    wrapped += text.slice(from, start) + comment;
    from = end;
  }
  return wrapped + text.slice(from);
}

function docComments({ text, comments }: Source): Edit[] {
  return comments.flatMap(({ type, start, end, value }) => {
    const indent = indentOf(text, start);
    if (type !== "Block" || indent === undefined || !value.startsWith("*")) return [];
    if (!isWide(text, start, end)) return [];
    const lines = value
      .slice(1)
      .split("\n")
      .map((line, i) => (i === 0 ? line : line.replace(/^\s*\* ?/, "")).trimEnd());
    if (lines[0]!.trim() === "") lines.shift();
    if (lines.at(-1)?.trim() === "") lines.pop();
    lines[0] = lines[0]!.trimStart();
    const filled = fill(lines, maxColumns - indent.length - 3).map(
      (line) => `${indent} *${line && ` ${line}`}`,
    );
    return [{ start, end, text: ["/**", ...filled, `${indent} */`].join("\n") }];
  });
}

function lineComments({ text, comments }: Source): Edit[] {
  const edits: Edit[] = [];
  const groups: { start: number; end: number; lines: string[] }[] = [];
  for (const { type, start, end, value } of comments) {
    if (type !== "Line" || indentOf(text, start) === undefined) continue;
    const group = groups.at(-1);
    const line = value.replace(/^ /, "").trimEnd();
    if (group !== undefined && /^\n[ \t]*$/.test(text.slice(group.end, start))) {
      group.lines.push(line);
      group.end = end;
    } else groups.push({ start, end, lines: [line] });
  }
  for (const { start, end, lines } of groups) {
    if (!isWide(text, start, end)) continue;
    const indent = indentOf(text, start)!;
    const filled = fill(lines, maxColumns - indent.length - 3);
    edits.push({ start, end, text: filled.map((line) => `//${line && ` ${line}`}`).join(`\n${indent}`) });
  }
  return edits;
}

/** The blanks before a comment; undefined if there is code. */
function indentOf(text: string, start: number): string | undefined {
  const before = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  return /^[ \t]*$/.test(before) ? before : undefined;
}

function isWide(text: string, start: number, end: number): boolean {
  return text
    .slice(text.lastIndexOf("\n", start - 1) + 1, end)
    .split("\n")
    .some((line) => line.length > maxColumns);
}

/**
 * Fills paragraphs anew that have a wide line. Blank lines, lists, tags, tables and code keep their lines.
 */
function fill(lines: readonly string[], width: number): string[] {
  const filled: string[] = [];
  let paragraph: string[] = [];
  const flush = (): void => {
    if (!paragraph.some((line) => line.length > width)) filled.push(...paragraph);
    else {
      let line = "";
      for (const word of paragraph.join(" ").split(/ +/)) {
        if (line !== "" && line.length + 1 + word.length > width) {
          filled.push(line);
          line = word;
        } else line += (line === "" ? "" : " ") + word;
      }
      filled.push(line);
    }
    paragraph = [];
  };
  let isCode = false;
  for (const line of lines) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    if (isCode || line === "" || /^\s*(?:```|\|)|^\s{2,}|^biome-ignore/.test(line)) {
      flush();
      filled.push(line);
    } else {
      if (/^(?:[-*@]|\d+\.) ?/.test(line) || line.startsWith("Upstream:")) flush();
      paragraph.push(line);
    }
  }
  flush();
  return filled;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = process.argv
    .slice(2)
    .flatMap((path) =>
      statSync(path).isDirectory()
        ? readSources(path).map((source) => ({ path: `${path}/${source.path}`, source }))
        : [{ path, source: createSource(path, readFileSync(path, "utf8")) }],
    );
  for (const { path, source } of sources) {
    if (source.isGenerated || dirname(path).endsWith("/generated")) continue;
    const wrapped = wrapComments(source);
    if (wrapped !== source.text) writeFileSync(path, wrapped);
  }
}
