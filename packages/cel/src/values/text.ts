const encoder = new TextEncoder();
/** Encodes a string as UTF-8. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** Compares strings by their UTF-8 bytes. JavaScript's order differs for surrogate pairs. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const surrogateX = x >= 0xd800 && x <= 0xdfff;
    const surrogateY = y >= 0xd800 && y <= 0xdfff;
    if (surrogateX !== surrogateY) return surrogateX ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}

/** The number of code points of a string. */
export function textLength(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < text.length) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        length--;
        i++;
      }
    }
  }
  return length;
}

/** The number of bytes in UTF-8. A lone surrogate counts as the replacement character. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) length += 1;
    else if (unit < 0xd800 || unit > 0xdbff || !lowSurrogate(text.charCodeAt(i + 1))) length += 2;
    else {
      length += 2;
      i++;
    }
  }
  return length;
}

const lowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
