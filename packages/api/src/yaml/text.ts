import { type Cursor, isBlank, isBlankOrEnd, isBreak, isDigit, space, tab } from "./cursor.ts";

const [singleQuote, backslash, colon, hash] = [0x27, 0x5c, 0x3a, 0x23];
const [plus, dash, zero] = [0x2b, 0x2d, 0x30];

/** Line breaks in a scalar that is not literal: one alone is a blank, of several the first is left out. */
function folded(first: string, more: string): string {
  if (first !== "\n") return first + more;
  return more === "" ? " " : more;
}

/** Blanks and line breaks between two words of a scalar. */
interface Gap {
  /** Their text in the scalar. */
  readonly text: string;
  readonly broken: boolean;
}

/**
 * `indent` is the indentation of plain scalars: tabs are not allowed there. `broken`: a line break was before
 * it.
 */
function gap(cursor: Cursor, broken = false, indent = 0): Gap {
  const start = cursor.at;
  let [first, more, leading] = ["", "", broken];
  let end = start;
  for (;;) {
    const code = cursor.peek();
    if (isBlank(code)) {
      if (leading && code === tab && cursor.column < indent)
        cursor.fail("found a tab character that violates indentation");
      cursor.at++;
      if (!leading) end = cursor.at;
    } else if (isBreak(code)) {
      if (leading) more += cursor.breakLine();
      else first = cursor.breakLine();
      leading = true;
    } else break;
  }
  return leading
    ? { text: folded(first, more), broken: true }
    : { text: cursor.text.slice(start, end), broken: false };
}

const isFlowIndicator = (code: number): boolean =>
  code === 0x2c || code === 0x3f || code === 0x5b || code === 0x5d || code === 0x7b || code === 0x7d;

/**
 * Reads a scalar without quotes; `indent` is that of the collection around it. `broken`: it ends after a line
 * break.
 */
export function plainText(
  cursor: Cursor,
  inFlow: boolean,
  indent: number,
): { value: string; broken: boolean } {
  let value = "";
  let between: Gap = { text: "", broken: false };
  while (!cursor.atDocumentIndicator() && cursor.peek() !== hash) {
    const start = cursor.at;
    for (let code = cursor.peek(); !isBlankOrEnd(code); code = cursor.peek()) {
      if (code === colon && isBlankOrEnd(cursor.peek(1))) break;
      if (inFlow && isFlowIndicator(code)) break;
      cursor.at++;
    }
    if (cursor.at > start) {
      value += between.text + cursor.text.slice(start, cursor.at);
      between = { text: "", broken: false };
    }
    const code = cursor.peek();
    if (!isBlank(code) && !isBreak(code)) break;
    between = gap(cursor, between.broken, indent + 1);
    if (!inFlow && cursor.column < indent + 1) break;
  }
  return { value, broken: between.broken };
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\x07"],
  ["b", "\b"],
  ["t", "\t"],
  ["\t", "\t"],
  ["n", "\n"],
  ["v", "\v"],
  ["f", "\f"],
  ["r", "\r"],
  ["e", "\x1b"],
  [" ", " "],
  ['"', '"'],
  ["'", "'"],
  ["\\", "\\"],
  ["N", "\x85"],
  ["_", "\xa0"],
  ["L", "\u2028"],
  ["P", "\u2029"],
]);
const escapedDigits: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);

function escapedText(cursor: Cursor): string {
  const letter = cursor.text[cursor.at + 1] ?? "";
  const digits = escapedDigits.get(letter);
  if (digits === undefined) {
    const known = escapes.get(letter);
    if (known === undefined) cursor.fail("found unknown escape character");
    cursor.at += 2;
    return known;
  }
  cursor.at += 2;
  const hexadecimal = cursor.text.slice(cursor.at, cursor.at + digits);
  if (hexadecimal.length < digits || !/^[0-9a-fA-F]+$/.test(hexadecimal)) {
    cursor.fail("did not find expected hexdecimal number");
  }
  const code = Number.parseInt(hexadecimal, 16);
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
    cursor.fail("found invalid Unicode character escape code");
  }
  cursor.at += digits;
  return String.fromCodePoint(code);
}

/** Reads a scalar in quotes, from the opening quote on. */
export function quotedText(cursor: Cursor, quote: number): string {
  const { text } = cursor;
  const single = quote === singleQuote;
  cursor.at++;
  let value = "";
  for (;;) {
    const start = cursor.at;
    let code = cursor.peek();
    while (code !== 0 && code !== quote && !isBreak(code) && (single || code !== backslash)) {
      cursor.at++;
      code = cursor.peek();
    }
    if (code === quote) {
      value += text.slice(start, cursor.at++);
      if (!single || cursor.peek() !== quote) return value;
      value += "'";
      cursor.at++;
      continue;
    }
    if (code === backslash && !single && !isBreak(cursor.peek(1))) {
      value += text.slice(start, cursor.at) + escapedText(cursor);
      continue;
    }
    if (code !== 0) {
      const escaped = code === backslash;
      // Blanks before a line break are not part of the scalar, unless the break is escaped.
      let end = cursor.at;
      while (!escaped && end > start && isBlank(text.charCodeAt(end - 1))) end--;
      value += text.slice(start, end);
      if (escaped) {
        cursor.at++;
        cursor.breakLine();
      }
      if (!cursor.atDocumentIndicator()) value += gap(cursor, escaped).text;
    }
    if (cursor.atDocumentIndicator()) cursor.fail("found unexpected document indicator");
    if (cursor.peek() === 0) cursor.fail("found unexpected end of stream");
  }
}

/**
 * `|`, `>`: how the line breaks at the end are kept, and the indentation of the text; 0 where its first line
 * says it.
 */
function header(cursor: Cursor): { chomping: number; increment: number } {
  let [chomping, increment] = [0, 0];
  for (let part = 0; part < 2; part++) {
    const code = cursor.peek();
    if (chomping === 0 && (code === plus || code === dash)) chomping = code === plus ? 1 : -1;
    else if (increment === 0 && isDigit(code)) {
      if (code === zero) cursor.fail("found an indentation indicator equal to 0");
      increment = code - zero;
    } else break;
    cursor.at++;
  }
  cursor.skipBlanks();
  cursor.skipComment();
  const end = cursor.peek();
  if (end !== 0 && !isBreak(end)) cursor.fail("did not find expected comment or line break");
  if (end !== 0) cursor.breakLine();
  return { chomping, increment };
}

/** Reads a block scalar, from its indicator on; `indent` is that of the collection around it. */
export function blockText(cursor: Cursor, literal: boolean, indent: number): string {
  cursor.at++;
  const { chomping, increment } = header(cursor);
  let own = increment > 0 ? Math.max(indent, 0) + increment : 0;
  const breaks = (): string => {
    let [found, widest] = ["", 0];
    for (;;) {
      while ((own === 0 || cursor.column < own) && cursor.peek() === space) cursor.at++;
      widest = Math.max(widest, cursor.column);
      if ((own === 0 || cursor.column < own) && cursor.peek() === tab) {
        cursor.fail("found a tab character where an indentation space is expected");
      }
      if (!isBreak(cursor.peek())) break;
      found += cursor.breakLine();
    }
    if (own === 0) own = Math.max(widest, indent + 1, 1);
    return found;
  };
  let [value, first, more, indented] = ["", "", breaks(), false];
  while (cursor.column === own && cursor.peek() !== 0) {
    const blank = isBlank(cursor.peek());
    if (literal || indented || blank || first !== "\n") value += first + more;
    else value += folded(first, more);
    indented = blank;
    const start = cursor.at;
    for (let code = cursor.peek(); code !== 0 && !isBreak(code); code = cursor.peek()) cursor.at++;
    value += cursor.text.slice(start, cursor.at);
    first = cursor.peek() === 0 ? "" : cursor.breakLine();
    more = breaks();
  }
  return value + (chomping === -1 ? "" : first) + (chomping === 1 ? more : "");
}
