import { utf8 } from "../texts.ts";

/**
 * Texts as Go sees them, one character per byte of UTF-8. What looks into bytes (URLs, hex, quoting) works on these.
 */
export function toBytes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is the same in both forms.
  return /^[\x00-\x7f]*$/.test(text)
    ? text
    : Array.from(utf8(text), (byte) => String.fromCharCode(byte)).join("");
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of those bytes; what is no UTF-8 becomes U+FFFD. */
export function fromBytes(bytes: string): string {
  return decoder.decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}

/** What Go writes for characters that cannot stand in double quotes as they are. */
export const escapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
  '"': '\\"',
}; // biome-ignore format: a table reads better in lines

const hex = (value: number, width: number): string => value.toString(16).padStart(width, "0");

/** One character of UTF-8, or one byte that belongs to none. */
const character =
  /[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|./gs;

/** Bytes in double quotes as Go's `%q` prints them. */
export function quotedBytes(bytes: string): string {
  const body = bytes.replace(character, (part) => {
    const known = escapes[part];
    if (known !== undefined) return known;
    if (part.length === 1 && part >= "\x7f") return `\\x${hex(part.charCodeAt(0), 2)}`;
    const point = part.length === 1 ? part : fromBytes(part);
    // What Go calls printable: letters, marks, numbers, punctuation, symbols, and of the blanks only U+0020.
    if (point === " " || /[^\p{C}\p{Z}]/u.test(point)) return point;
    const code = point.codePointAt(0)!;
    if (code < 0x80) return `\\x${hex(code, 2)}`;
    return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
  });
  return `"${body}"`;
}

/** A text in double quotes as Go's `%q` prints it. */
export const goQuoted = (text: string): string => quotedBytes(toBytes(text));
