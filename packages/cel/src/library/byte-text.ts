import { utf8 } from "../values/text.ts";

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
