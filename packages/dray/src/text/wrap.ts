import { stripVTControlCharacters } from "node:util";

/** Further lines of a wrapped line are indented by this much more than its first one. */
const hangingIndent = 6;
/** Minimum width of wrapped text; below, names would stand alone in most lines. */
const minWidth = 20;

/**
 * A line that a reader may copy into a shell: a break in it would be copied, too, while one that a terminal
 * makes is not.
 */
const command =
  /^\s*(?:[\w ]+: )?(?:\$ )?(?:[A-Z_]+=\S* )*(?:bash|curl|dray|export|helm|kubectl|node|npm|npx|sh|sudo|sysctl)(?: |$)/;
/** A row of a table that is shown in full (`-o wide`). */
const tableRow = /\S {3,}\S/;

const widthOf = (text: string): number => stripVTControlCharacters(text).length;

/**
 * Breaks lines that are wider than `width` at spaces. Further lines have a hanging indent. Commands and
 * rows of tables are left as they are, and a word that is too long is not broken: both can be copied.
 */
export function wrapText(text: string, width: number): string {
  if (!Number.isFinite(width)) return text;
  return text
    .split("\n")
    .map((line) => wrapLine(line, Math.max(width, minWidth)))
    .join("\n");
}

function wrapLine(line: string, width: number): string {
  if (widthOf(line) <= width || command.test(line) || tableRow.test(line)) return line;
  const indent = line.slice(0, line.length - line.trimStart().length);
  const hanging = " ".repeat(Math.min(indent.length + hangingIndent, width - minWidth));
  return brokenWords(line.slice(indent.length), width, indent, hanging);
}

function brokenWords(text: string, width: number, indent: string, hanging: string): string {
  const lines: string[] = [];
  let current = indent;
  let isEmpty = true;
  for (const word of text.split(" ")) {
    if (!isEmpty && widthOf(current) + 1 + widthOf(word) > width) {
      lines.push(current);
      current = hanging;
      isEmpty = true;
    }
    current += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, current].join("\n");
}

/** A line of a source text that is shorter than this was ended on purpose. */
const filledWidth = 110;

/**
 * Fills the paragraphs of a text anew to `width`. Lines that are indented, empty or short are left as they
 * are.
 */
export function refill(text: string, width: number): string {
  const lines: string[] = [];
  let before = "";
  for (const line of text.split("\n")) {
    const [word = ""] = line.split(" ");
    const isFilled = /^\S/.test(before) && before.length + 1 + word.length > filledWidth;
    if (isFilled && word !== "") lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
    before = line;
  }
  return lines.map((line) => (/^\S/.test(line) ? brokenWords(line, width, "", "") : line)).join("\n");
}
