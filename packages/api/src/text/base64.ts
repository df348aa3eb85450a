/** Bytes of the digits of base64. */
const digits: ReadonlySet<number> = new Set(
  Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
);

/** The byte at which Go's decoder rejects a text as base64; undefined if it is valid. */
export function wrongBase64(text: string): number | undefined {
  const compact = text.replace(/[\r\n]/g, "");
  const good = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
  if (good.test(compact)) return undefined;
  const bytes = Buffer.from(text);
  /** Characters of the group of four at hand, and the end of the last padding. */
  let group = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === 0x0d || byte === 0x0a) continue;
    if (digits.has(byte)) {
      group = (group + 1) % 4;
      continue;
    }
    if (byte !== 0x3d || group < 2) return at;
    let next = at + 1;
    const skip = (): void => {
      while (bytes[next] === 0x0d || bytes[next] === 0x0a) next++;
    };
    skip();
    if (group === 2) {
      if (next >= bytes.length) return bytes.length;
      if (bytes[next] !== 0x3d) return next;
      next++;
      skip();
    }
    return next;
  }
  // The text ends within a group: Go names the first byte of it.
  let back = bytes.length;
  for (let left = group; left > 0 && back > 0; ) {
    back--;
    if (bytes[back] !== 0x0d && bytes[back] !== 0x0a) left--;
  }
  return back;
}
