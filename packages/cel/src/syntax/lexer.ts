import { inInt, inUint } from "../values/integers.ts";
import { Uint } from "../values/value.ts";
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
  /** As written. */
  readonly text: string;
  readonly offset: number;
}

const symbols = [
  "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
  "[", "]", "{", "}",
]; // biome-ignore format: a table reads better in lines
const symbolsByFirst = new Map(
  symbols.map(([first]) => [first!, symbols.filter((symbol) => symbol.startsWith(first!))]),
);

const isDigit = (c: string | undefined): boolean => c !== undefined && c >= "0" && c <= "9" && c.length === 1;
const isHex = (c: string | undefined): boolean => c !== undefined && /^[0-9a-fA-F]$/.test(c);
const isLetter = (c: string | undefined): boolean => c !== undefined && /^[A-Za-z_]$/.test(c);
const isWord = (c: string | undefined): boolean => isLetter(c) || isDigit(c);
const isSpace = (c: string): boolean => c === " " || c === "\t" || c === "\n" || c === "\r" || c === "\f";

/** Splits an expression into tokens; the last is `end`. What fits no token is reported and left out. */
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
        // Half of a symbol of two characters is noticed at the second, which goes with it.
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

/** The number that the token stands for, with a minus before it; undefined if it is out of range. */
export function numberValue(token: Token, sign: "" | "-"): bigint | number | Uint | undefined {
  const { kind, text } = token;
  if (kind === "double") {
    const value = Number(sign + text);
    return Number.isFinite(value) ? value : undefined;
  }
  const digits = BigInt(kind === "uint" ? text.slice(0, -1) : text);
  if (kind === "uint") return inUint(digits) ? new Uint(digits) : undefined;
  const value = sign === "-" ? -digits : digits;
  return inInt(value) ? value : undefined;
}

/** Undefined: no string begins here. `stop`: one begins and has no end or a bad escape, noticed there. */
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
    const end = scanQuoted(points, start + 3, quote, true, raw);
    if (end.closed) return { kind, end: end.offset };
    // Not closed: the empty string stands here, and another begins behind it.
    return { kind, end: start + 2 };
  }
  const end = scanQuoted(points, start + 1, quote, false, raw);
  return end.closed ? { kind, end: end.offset } : { stop: end.offset };
}

function scanQuoted(
  points: readonly string[],
  offset: number,
  quote: string,
  triple: boolean,
  raw: boolean,
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

/** Code points that an escape takes; 0 if it is none. */
function escapeLength(points: readonly string[], offset: number): number {
  const c = points[offset + 1];
  if (c === undefined) return 0;
  if ("abfnrtv\"'\\?`".includes(c)) return 2;
  const hex = c === "x" || c === "X" ? 2 : c === "u" ? 4 : c === "U" ? 8 : 0;
  if (hex > 0) {
    for (let i = 0; i < hex; i++) if (!isHex(points[offset + 2 + i])) return 0;
    return 2 + hex;
  }
  if (c >= "0" && c <= "3" && octal(points[offset + 2]) && octal(points[offset + 3])) return 4;
  return 0;
}

const octal = (c: string | undefined): boolean => c !== undefined && c >= "0" && c <= "7" && c.length === 1;

const simpleEscapes: Readonly<Record<string, number>> = {
  a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '"': 34, "'": 39, "\\": 92, "?": 63, "`": 96,
}; // biome-ignore format: a table reads better in lines

export class UnescapeError extends Error {
  override readonly name = "UnescapeError";
}

/** The content of a string or bytes token. Throws UnescapeError with the text of the API server. */
export function unquote(token: Token): string | Uint8Array {
  let text = token.text;
  const bytes = token.kind === "bytes";
  if (bytes) text = text.slice(1);
  const raw = text[0] === "r" || text[0] === "R";
  if (raw) text = text.slice(1);
  const triple = text.length >= 6 && text[1] === text[0] && text[2] === text[0];
  const body = text
    .slice(triple ? 3 : 1, triple ? -3 : -1)
    .replaceAll("\r\n", "\n")
    .replaceAll("\r", "\n");
  if (raw || !body.includes("\\")) return bytes ? new TextEncoder().encode(body) : body;
  const out: number[] = [];
  let result = "";
  const points = Array.from(body);
  for (let i = 0; i < points.length; ) {
    const c = points[i]!;
    if (c !== "\\") {
      if (bytes) for (const each of new TextEncoder().encode(c)) out.push(each);
      else result += c;
      i++;
      continue;
    }
    const length = escapeLength(points, i);
    const kind = points[i + 1]!;
    const code = escapeCode(points, i, length);
    if (bytes) {
      if (kind === "u" || kind === "U") throw new UnescapeError("unable to unescape string");
      out.push(code);
    } else {
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        throw new UnescapeError("invalid unicode code point");
      }
      result += String.fromCodePoint(code);
    }
    i += length;
  }
  return bytes ? Uint8Array.from(out) : result;
}

function escapeCode(points: readonly string[], offset: number, length: number): number {
  const kind = points[offset + 1]!;
  if (length === 2) return simpleEscapes[kind]!;
  if (kind >= "0" && kind <= "3") return Number.parseInt(points.slice(offset + 1, offset + 4).join(""), 8);
  return Number.parseInt(points.slice(offset + 2, offset + length).join(""), 16);
}
