import { escapeLength } from "./escapes.ts";
import type { Problem, Source } from "./source.ts";

export type TokenKind =
  | "identifier"
  | "escaped"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "symbol"
  | "end";

export interface Token {
  readonly kind: TokenKind;
  /** The text in the source. */
  readonly text: string;
  /** In code points. */
  readonly offset: number;
}

const symbols = [
  "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
  "[", "]", "{", "}",
]; // biome-ignore format: a table reads better in lines
const symbolsByFirst = new Map(
  symbols
    .map((symbol) => symbol.charAt(0))
    .map((first) => [first, symbols.filter((symbol) => symbol.startsWith(first))]),
);

const isDigit = (c: string | undefined): boolean => c !== undefined && c >= "0" && c <= "9" && c.length === 1;
const isHex = (c: string | undefined): boolean => c !== undefined && /^[0-9a-fA-F]$/.test(c);
const isLetter = (c: string | undefined): boolean => c !== undefined && /^[A-Za-z_]$/.test(c);
const isWord = (c: string | undefined): boolean => isLetter(c) || isDigit(c);
const isSpace = (c: string): boolean => c === " " || c === "\t" || c === "\n" || c === "\r" || c === "\f";

/**
 * Splits an expression into tokens; the last one is `end`. Skips invalid characters and reports them as
 * problems.
 */
export function tokenize(source: Source, problems: Problem[]): Token[] {
  const points = source.points;
  const tokens: Token[] = [];
  let offset = 0;
  const push = (kind: TokenKind, end: number): void => {
    tokens.push({ kind, text: points.slice(offset, end).join(""), offset });
    offset = end;
  };
  while (offset < points.length) {
    const c = points[offset]!;
    if (isSpace(c)) {
      offset++;
    } else if (c === "/" && points[offset + 1] === "/") {
      while (offset < points.length && points[offset] !== "\n") offset++;
    } else if (isDigit(c) || (c === "." && isDigit(points[offset + 1]))) {
      const number = scanNumber(points, offset);
      push(number.kind, number.end);
    } else if (c === '"' || c === "'" || "bBrR".includes(c)) {
      const string = scanString(points, offset);
      if (string !== undefined && "end" in string) push(string.kind, string.end);
      else if (string === undefined || isLetter(c)) push("identifier", scanWord(points, offset));
      else {
        problems.push(unrecognized(points, offset, string.stop));
        offset = string.stop;
      }
    } else if (isLetter(c)) {
      push("identifier", scanWord(points, offset));
    } else if (c === "`") {
      let end = offset + 1;
      while (points[end] !== undefined && /^[A-Za-z0-9_.\-/ ]$/.test(points[end]!)) end++;
      if (points[end] === "`" && end > offset + 1) push("escaped", end + 1);
      else {
        problems.push(unrecognized(points, offset, end));
        offset = Math.max(end, offset + 1);
      }
    } else {
      const symbol = symbolsByFirst.get(c)?.find((s) => s.length === 1 || points[offset + 1] === s[1]);
      if (symbol === undefined) {
        // Half of `&&`, `||` or `==` is an error at the next character, which is skipped, too.
        const end = "&|=".includes(c) ? offset + 2 : offset + 1;
        problems.push(unrecognized(points, offset, end));
        offset = end;
      } else push("symbol", offset + symbol.length);
    }
  }
  tokens.push({ kind: "end", text: "<EOF>", offset: points.length });
  return tokens;
}

function unrecognized(points: readonly string[], offset: number, end: number): Problem {
  const text = points.slice(offset, Math.max(end, offset + 1)).join("");
  return { offset, message: `Syntax error: token recognition error at: '${text}'` };
}

function scanWord(points: readonly string[], offset: number): number {
  let end = offset;
  while (isWord(points[end])) end++;
  return end;
}

function scanNumber(points: readonly string[], offset: number): { kind: TokenKind; end: number } {
  let end = offset;
  if (points[offset] === "0" && points[offset + 1] === "x" && isHex(points[offset + 2])) {
    end = offset + 2;
    while (isHex(points[end])) end++;
    return suffixed(points, end);
  }
  while (isDigit(points[end])) end++;
  let double = false;
  if (points[end] === "." && isDigit(points[end + 1])) {
    double = true;
    end++;
    while (isDigit(points[end])) end++;
  }
  if (points[end] === "e" || points[end] === "E") {
    const sign = points[end + 1] === "+" || points[end + 1] === "-" ? 1 : 0;
    if (isDigit(points[end + 1 + sign])) {
      double = true;
      end += 1 + sign;
      while (isDigit(points[end])) end++;
    }
  }
  return double ? { kind: "double", end } : suffixed(points, end);
}

function suffixed(points: readonly string[], end: number): { kind: TokenKind; end: number } {
  const unsigned = points[end] === "u" || points[end] === "U";
  return unsigned ? { kind: "uint", end: end + 1 } : { kind: "int", end };
}

/** Returns undefined if no string starts here; for an invalid string `stop`, the offset behind its error. */
function scanString(
  points: readonly string[],
  offset: number,
): { kind: TokenKind; end: number } | { stop: number } | undefined {
  let start = offset;
  let bytes = false;
  let raw = false;
  if (points[start] === "b" || points[start] === "B") {
    bytes = true;
    start++;
  }
  if (points[start] === "r" || points[start] === "R") {
    raw = true;
    start++;
  }
  const quote = points[start];
  if (quote !== '"' && quote !== "'") return undefined;
  const kind = bytes ? "bytes" : "string";
  if (points[start + 1] === quote && points[start + 2] === quote) {
    const end = scanQuoted(points, start + 3, quote, { triple: true, raw });
    if (end.closed) return { kind, end: end.offset };
    // Without its end, `"""` is an empty string and the start of another one.
    return { kind, end: start + 2 };
  }
  const end = scanQuoted(points, start + 1, quote, { triple: false, raw });
  return end.closed ? { kind, end: end.offset } : { stop: end.offset };
}

function scanQuoted(
  points: readonly string[],
  offset: number,
  quote: string,
  { triple, raw }: { readonly triple: boolean; readonly raw: boolean },
): { closed: boolean; offset: number } {
  let end = offset;
  while (end < points.length) {
    const c = points[end]!;
    if (c === quote) {
      if (!triple) return { closed: true, offset: end + 1 };
      if (points[end + 1] === quote && points[end + 2] === quote) return { closed: true, offset: end + 3 };
    }
    if (!triple && (c === "\n" || c === "\r")) return { closed: false, offset: end + 1 };
    if (c === "\\" && !raw) {
      const length = escapeLength(points, end);
      if (length === 0) return { closed: false, offset: Math.min(end + 2, points.length) };
      end += length;
    } else end++;
  }
  return { closed: false, offset: points.length };
}
