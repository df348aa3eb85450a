import { utf8 } from "../values/text.ts";

/** Converts a string to one character per byte of UTF-8, for code that follows Go's loops over bytes. */
export function toBytes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is the same in both forms.
  return /^[\x00-\x7f]*$/.test(text)
    ? text
    : Array.from(utf8(text), (byte) => String.fromCharCode(byte)).join("");
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes the bytes. Invalid UTF-8 becomes U+FFFD. */
export function fromBytes(bytes: string): string {
  return decoder.decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}
