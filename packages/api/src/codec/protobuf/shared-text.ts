/** Maximum length of a shared text: longer ones are seldom repeated. */
const maxLength = 64;
/** A power of two. */
const slots = 4096;

/** The last text of each hash. */
const texts = new Array<string>(slots).fill("");

/**
 * The text of these bytes; if it occurred recently, the same string again: most texts of an object are those
 * of the objects before it, and a cache of many objects keeps each only once. Undefined for long texts and
 * for other than ASCII.
 */
export function sharedText(bytes: Buffer, start: number, end: number): string | undefined {
  const length = end - start;
  if (length === 0) return "";
  if (length > maxLength) return undefined;
  let hash = length;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte >= 0x80) return undefined;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  const slot = (hash ^ (hash >>> 15)) & (slots - 1);
  const known = texts[slot]!;
  if (known.length === length) {
    let i = 0;
    while (i < length && known.charCodeAt(i) === bytes[start + i]) i++;
    if (i === length) return known;
  }
  const text = bytes.toString("latin1", start, end);
  texts[slot] = text;
  return text;
}
