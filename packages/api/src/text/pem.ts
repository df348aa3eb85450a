/** One block of a text in PEM (RFC 7468). */
export interface PemBlock {
  readonly type: string;
  /** Between its first and its last line. */
  readonly body: string;
  /** All of it. */
  readonly block: string;
}

/**
 * The PEM blocks of a text, each up to the first end of its type, in a time that grows with the text alone.
 */
export function* pemBlocks(pem: string): Generator<PemBlock> {
  const ends = new Map<string, number[]>();
  for (const { index, 1: type = "" } of pem.matchAll(/-----END ([^-\n]*)-----/g)) {
    const known = ends.get(type);
    if (known === undefined) ends.set(type, [index]);
    else known.push(index);
  }
  for (const known of ends.values()) known.reverse();
  let from = 0;
  for (const begin of pem.matchAll(/-----BEGIN ([^-\n]*)-----\r?\n/g)) {
    if (begin.index < from) continue;
    const type = begin[1]!;
    const start = begin.index + begin[0].length;
    const ahead = ends.get(type) ?? [];
    let end = ahead.pop();
    while (end !== undefined && end < start) end = ahead.pop();
    if (end === undefined) continue;
    from = end + `-----END ${type}-----`.length;
    yield { type, body: pem.slice(start, end), block: pem.slice(begin.index, from) };
  }
}

/**
 * The content of a block: base64 without headers and white space. Undefined where it is not base64; Go's
 * decoder passes over such a block.
 */
export function pemContent({ body }: PemBlock): string | undefined {
  const lines = body.split("\n");
  const first = lines.findIndex((line) => !line.includes(":"));
  const content = lines
    .slice(first < 0 ? lines.length : first)
    .join("")
    .replace(/\s/g, "");
  return content.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(content) ? content : undefined;
}
