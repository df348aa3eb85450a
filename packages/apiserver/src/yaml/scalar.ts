import { codePointOf } from "@dray/api";

/** Styles in which a text can be written. */
export interface Analysis {
  readonly multiline: boolean;
  readonly plain: boolean;
  readonly single: boolean;
  /** As a literal block. */
  readonly block: boolean;
}

/** Line breaks of YAML 1.1. */
export function isBreak(character: string): boolean {
  const code = character.charCodeAt(0);
  return code === 0x0a || code === 0x0d || code === 0x85 || code === 0x2028 || code === 0x2029;
}

/** Characters that go-yaml writes unescaped: not tabs, and not those beyond the basic plane. */
function isPrintable(character: string): boolean {
  const code = codePointOf(character);
  if (code === 0x0a || (code >= 0x20 && code <= 0x7e)) return true;
  return code >= 0xa0 && code <= 0xffff && code !== 0xfeff && code !== 0xfffe && code !== 0xffff;
}

const opening = new Set("#,[]{}&*!|>'\"%@`");

/** The vast majority of texts: they contain no special characters. */
const simple = /^[A-Za-z0-9_/][A-Za-z0-9_./-]*$/;

/** Analyses a text as libyaml's emitter does. */
export function analyse(value: string): Analysis {
  if (simple.test(value)) return { multiline: false, plain: true, single: true, block: true };
  if (value === "") return { multiline: false, plain: true, single: true, block: false };
  let indicators = value.startsWith("---") || value.startsWith("...");
  let [special, multiline, breakSpace, spaceBreak] = [false, false, false, false];
  let [previousSpace, previousBreak, afterBlank] = [false, false, true];
  const characters = [...value];
  for (const [at, character] of characters.entries()) {
    const next = characters[at + 1];
    const beforeBlank = next === undefined || next === " " || next === "\t";
    if (at === 0) {
      if (opening.has(character)) indicators = true;
      else if ("?:-".includes(character) && beforeBlank) indicators = true;
    } else if ((character === ":" && beforeBlank) || (character === "#" && afterBlank)) indicators = true;
    if (!isPrintable(character)) special = true;
    const space = character === " ";
    const lineBreak = !space && isBreak(character);
    if (space && previousBreak) breakSpace = true;
    if (lineBreak) {
      multiline = true;
      if (previousSpace) spaceBreak = true;
    }
    [previousSpace, previousBreak] = [space, lineBreak];
    afterBlank = space || lineBreak || character === "\t" || character === "\0";
  }
  const edge = (character: string): boolean => character === " " || isBreak(character);
  const last = value.slice(-1);
  const trailingSpace = last === " ";
  const broken = spaceBreak || special;
  return {
    multiline,
    plain: !(edge(value.slice(0, 1)) || edge(last) || breakSpace || broken || multiline || indicators),
    single: !(breakSpace || broken),
    block: !(trailingSpace || broken),
  };
}

const short: Readonly<Record<string, string>> = {
  "\0": "0",
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\x1b": "e",
  '"': '"',
  "\\": "\\",
  "\u0085": "N",
  "\u2028": "L",
  "\u2029": "P",
};

/** Returns the escape of a character between double quotes; undefined if it needs none. */
export function escaped(character: string): string | undefined {
  const letter = short[character];
  if (letter !== undefined) return `\\${letter}`;
  if (isPrintable(character)) return undefined;
  const code = codePointOf(character);
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
