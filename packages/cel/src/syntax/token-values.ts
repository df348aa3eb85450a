import { inInt, inUint } from "../values/integers.ts";
import { Uint } from "../values/value.ts";
import { escapeCode, escapeLength } from "./escapes.ts";
import type { Token } from "./lexer.ts";

/** The value of a number token with a sign; undefined if it is out of range. */
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
