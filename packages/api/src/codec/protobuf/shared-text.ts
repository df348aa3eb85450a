/** Longer texts are seldom repeated. */
const longest = 64;
/** A power of two. */
const places = 4096;

/** The last text of each hash. */
const texts = new Array<string>(places).fill("");

/**
 * The text of these bytes; where it came lately, the very string that it was then: most texts of an object are those of
 * the objects before it, and a cache of many objects keeps each only once. Undefined where it is long or no ASCII.
 */
export function sharedText(bytes: Buffer, start: number, end: number): string | undefined {
  const length = end - start;
  if (length === 0) return "";
  if (length > longest) return undefined;
  let hash = length;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte >= 0x80) return undefined;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  const place = (hash ^ (hash >>> 15)) & (places - 1);
  const known = texts[place]!;
  if (known.length === length) {
    let i = 0;
    while (i < length && known.charCodeAt(i) === bytes[start + i]) i++;
    if (i === length) return known;
  }
  const text = bytes.toString("latin1", start, end);
  texts[place] = text;
  return text;
}
