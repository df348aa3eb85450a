import { codePointOf } from "./code-point.ts";

/** Texts in double quotes as Go prints them, in every message that upstream makes with `%q`. */

/** Go's escapes of characters that have one of their own. */
export const goEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\v": "\\v",
};

const plain = /^[ !#-[\]-~]*$/;
/** Printable in Go are letters, marks, numbers, punctuation, symbols, and of the blanks only U+0020. */
const unprintable = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** Upstream: Go's strconv.Quote. Half of a surrogate pair, which Go's texts cannot hold, becomes U+FFFD. */
export function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : `"${text.toWellFormed().replace(unprintable, escaped)}"`;
}

function escaped(character: string): string {
  const known = goEscapes[character];
  if (known !== undefined) return known;
  const code = codePointOf(character);
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
}

const hex = (value: number, width: number): string => value.toString(16).padStart(width, "0");

/** One character of UTF-8, or one byte that belongs to no character. */
const character =
  /[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|./gs;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The same of bytes, given as one character each: bytes that are not UTF-8 become `\xff`. */
export function quotedBytes(bytes: string): string {
  if (plain.test(bytes)) return `"${bytes}"`;
  const body = bytes.replace(character, (part) => {
    if (part.length === 1)
      return part < "\x80" ? quoted(part).slice(1, -1) : `\\x${hex(part.charCodeAt(0), 2)}`;
    return quoted(decoder.decode(Uint8Array.from(part, (byte) => byte.charCodeAt(0)))).slice(1, -1);
  });
  return `"${body}"`;
}

/** A byte in single quotes. Upstream: Go's encoding/json, quoteChar, which takes it for a code point. */
export function quotedByte(byte: number): string {
  const text = String.fromCharCode(byte);
  if (text === "'") return "'\\''";
  return text === '"' ? `'"'` : `'${quoted(text).slice(1, -1)}'`;
}

const encoder = new TextEncoder();

/** Upstream: Go's package time, quote, in errors about times and durations: no escape but `\x`. */
export function quotedTime(text: string): string {
  if (plain.test(text)) return `"${text}"`;
  const body = text
    .toWellFormed()
    .replace(/["\\]|[^ -\x7f]/gu, (part) =>
      part === '"' || part === "\\"
        ? `\\${part}`
        : Array.from(encoder.encode(part), (byte) => `\\x${hex(byte, 2)}`).join(""),
    );
  return `"${body}"`;
}
