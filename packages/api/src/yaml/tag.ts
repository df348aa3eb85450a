import { type Cursor, isBlankOrEnd, isDigit, isWord } from "./cursor.ts";

const [bang, percent, less, greater] = [0x21, 0x25, 0x3c, 0x3e];

/** The text from here on as far as the characters of names go. */
function word(cursor: Cursor): string {
  const start = cursor.at;
  while (isWord(cursor.peek())) cursor.at++;
  return cursor.text.slice(start, cursor.at);
}

/** Characters that may follow the name of an anchor. */
const afterName = "?:,]}%@`";

/** Reads the name of an anchor or an alias, from its indicator on. */
export function anchorName(cursor: Cursor): string {
  cursor.at++;
  const name = word(cursor);
  const next = cursor.peek();
  if (name === "" || !(isBlankOrEnd(next) || afterName.includes(String.fromCharCode(next)))) {
    cursor.fail("did not find expected alphabetic or numeric character");
  }
  return name;
}

/** A tag as it is written: its handle is "" for one that is whole. */
export interface Tag {
  readonly handle: string;
  readonly suffix: string;
}

/** Reads a tag, from its `!` on. */
export function tagText(cursor: Cursor): Tag {
  const tag = cursor.peek(1) === less ? verbatim(cursor) : shorthand(cursor);
  if (!isBlankOrEnd(cursor.peek())) cursor.fail("did not find expected whitespace or line break");
  return tag;
}

function verbatim(cursor: Cursor): Tag {
  cursor.at += 2;
  const suffix = uri(cursor, "");
  if (cursor.peek() !== greater) cursor.fail("did not find the expected '>'");
  cursor.at++;
  return { handle: "", suffix };
}

function shorthand(cursor: Cursor): Tag {
  const handle = tagHandle(cursor, false);
  if (handle.length > 1 && handle.endsWith("!")) return { handle, suffix: uri(cursor, "") };
  const suffix = uri(cursor, handle);
  return suffix === "" ? { handle: "", suffix: "!" } : { handle: "!", suffix };
}

function tagHandle(cursor: Cursor, directive: boolean): string {
  if (cursor.peek() !== bang) cursor.fail("did not find expected '!'");
  cursor.at++;
  const name = word(cursor);
  if (cursor.peek() === bang) {
    cursor.at++;
    return `!${name}!`;
  }
  if (directive && name !== "") cursor.fail("did not find expected '!'");
  return `!${name}`;
}

const uriMarks = new Set(";/?:@&=+$,.!~*'()[]%");

/** `head`: the part that was read as a handle. */
function uri(cursor: Cursor, head: string): string {
  const parts = [head.slice(1)];
  const begin = cursor.at;
  for (
    let code = cursor.peek();
    isWord(code) || uriMarks.has(String.fromCharCode(code));
    code = cursor.peek()
  ) {
    if (code === percent) parts.push(escapedCharacter(cursor));
    else {
      parts.push(cursor.text[cursor.at]!);
      cursor.at++;
    }
  }
  if (head === "" && cursor.at === begin) cursor.fail("did not find expected tag URI");
  return parts.join("");
}

/** The bytes of one character, each as `%` and two digits. */
function escapedCharacter(cursor: Cursor): string {
  const bytes: number[] = [];
  for (let width = 1; bytes.length < width; ) {
    const digits = /^%([0-9a-fA-F]{2})$/.exec(cursor.text.slice(cursor.at, cursor.at + 3))?.[1];
    if (digits === undefined) cursor.fail("did not find URI escaped octet");
    const byte = Number.parseInt(digits, 16);
    if (bytes.length > 0) {
      if ((byte & 0xc0) !== 0x80) cursor.fail("found an incorrect trailing UTF-8 octet");
    } else {
      width = byte < 0x80 ? 1 : byte >= 0xf8 || byte < 0xc0 ? 0 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      if (width === 0) cursor.fail("found an incorrect leading UTF-8 octet");
    }
    bytes.push(byte);
    cursor.at += 3;
  }
  return Buffer.from(bytes).toString();
}

export type Directive =
  | { readonly name: "YAML"; readonly major: number; readonly minor: number }
  | { readonly name: "TAG"; readonly handle: string; readonly prefix: string };

/** Reads a directive with its line, from its `%` on. */
export function readDirective(cursor: Cursor): Directive {
  cursor.at++;
  const name = word(cursor);
  if (name === "") cursor.fail("could not find expected directive name");
  if (!isBlankOrEnd(cursor.peek())) cursor.fail("found unexpected non-alphabetical character");
  if (name !== "YAML" && name !== "TAG") cursor.fail("found unknown directive name");
  cursor.skipBlanks();
  const directive = name === "YAML" ? versionDirective(cursor) : tagDirective(cursor);
  cursor.skipBlanks();
  cursor.skipComment();
  if (!isBlankOrEnd(cursor.peek())) cursor.fail("did not find expected comment or line break");
  if (cursor.peek() !== 0) cursor.breakLine();
  return directive;
}

function versionDirective(cursor: Cursor): Directive {
  const major = versionNumber(cursor);
  if (cursor.peek() !== 0x2e) cursor.fail("did not find expected digit or '.' character");
  cursor.at++;
  return { name: "YAML", major, minor: versionNumber(cursor) };
}

function versionNumber(cursor: Cursor): number {
  const start = cursor.at;
  while (isDigit(cursor.peek())) {
    if (cursor.at - start === 2) cursor.fail("found extremely long version number");
    cursor.at++;
  }
  if (cursor.at === start) cursor.fail("did not find expected version number");
  return Number(cursor.text.slice(start, cursor.at));
}

function tagDirective(cursor: Cursor): Directive {
  const handle = tagHandle(cursor, true);
  const blank = cursor.peek();
  if (blank !== 0x20 && blank !== 0x09) cursor.fail("did not find expected whitespace");
  cursor.skipBlanks();
  const prefix = uri(cursor, "");
  if (!isBlankOrEnd(cursor.peek())) cursor.fail("did not find expected whitespace or line break");
  return { name: "TAG", handle, prefix };
}
