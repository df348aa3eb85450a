/** The little of DER (X.690) that a certificate needs: every value is tag, length, content. */

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export function tagged(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => tagged(0x30, ...items);
export const set = (...items: readonly Uint8Array[]): Buffer => tagged(0x31, ...items);
export const octets = (content: Uint8Array): Buffer => tagged(0x04, content);
export const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]));
export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text, "utf8"));

/** `bytes` is an unsigned number, highest byte first. */
export function integer(bytes: Uint8Array): Buffer {
  return tagged(0x02, bytes[0]! & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** `unused` bits at the end of the last byte do not count. */
export function bits(content: Uint8Array, unused = 0): Buffer {
  return tagged(0x03, Buffer.from([unused]), content);
}

/** `1.2.840.10045.2.1` */
export function objectId(text: string): Buffer {
  const [first, second, ...rest] = text.split(".").map(Number);
  const bytes = [first! * 40 + second!];
  for (const part of rest) {
    const digits = [part & 0x7f];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128)) {
      digits.unshift((left & 0x7f) | 0x80);
    }
    bytes.push(...digits);
  }
  return tagged(0x06, Buffer.from(bytes));
}

/** UTCTime up to 2049, GeneralizedTime from 2050 on, as certificates demand (RFC 5280, 4.1.2.5). */
export function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:T]/g, "");
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}
