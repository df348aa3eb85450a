/** The subset of DER (X.690) that a certificate needs: every value is tag, length, content. */

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

/** `bytes` is a big-endian unsigned number. */
export function integer(bytes: Uint8Array): Buffer {
  return tagged(0x02, bytes[0]! & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** `unused`: number of unused bits at the end of the last byte. */
export function bits(content: Uint8Array, unused = 0): Buffer {
  return tagged(0x03, Buffer.from([unused]), content);
}

/** `1.2.840.10045.2.1` */
export function objectId(text: string): Buffer {
  const [first, second, ...rest] = text.split(".").map(Number);
  if (first === undefined || second === undefined) throw new TypeError(`not an object identifier: ${text}`);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part & 0x7f];
    for (let remaining = Math.floor(part / 128); remaining > 0; remaining = Math.floor(remaining / 128)) {
      digits.unshift((remaining & 0x7f) | 0x80);
    }
    for (const each of digits) bytes.push(each);
  }
  return tagged(0x06, Buffer.from(bytes));
}

/** UTCTime up to 2049, GeneralizedTime from 2050 on, as certificates require (RFC 5280, 4.1.2.5). */
export function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:T]/g, "");
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}

/** Returns the values inside a constructed value. Throws a RangeError if it is truncated. */
export function children(value: Buffer): Buffer[] {
  const found: Buffer[] = [];
  const { begin, end } = span(value, 0);
  for (let at = begin; at < end; ) {
    const inner = span(value, at);
    found.push(value.subarray(at, inner.end));
    at = inner.end;
  }
  return found;
}

/**
 * Returns one of the values inside a constructed value, counted from the end if `index` is negative. Throws a
 * RangeError.
 */
export function child(value: Buffer, index: number): Buffer {
  const found = children(value).at(index);
  if (found === undefined) throw new RangeError("the value has fewer parts");
  return found;
}

/** Returns the content of a value. */
export function content(value: Buffer): Buffer {
  const { begin, end } = span(value, 0);
  return value.subarray(begin, end);
}

/** Returns the dotted form of an object identifier. */
export function objectIdText(value: Buffer): string {
  const parts: number[] = [];
  let part = 0;
  for (const byte of content(value)) {
    part = part * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    if (parts.length === 0)
      parts.push(Math.min(2, Math.floor(part / 40)), part - 40 * Math.min(2, Math.floor(part / 40)));
    else parts.push(part);
    part = 0;
  }
  return parts.join(".");
}

function span(value: Buffer, at: number): { begin: number; end: number } {
  const short = value.readUInt8(at + 1);
  const digits = short < 0x80 ? 0 : short & 0x7f;
  const begin = at + 2 + digits;
  const end = begin + (digits === 0 ? short : value.readUIntBE(at + 2, digits));
  if (end > value.length) throw new RangeError("the value is cut off");
  return { begin, end };
}
