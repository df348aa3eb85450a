const isHex = (c: string | undefined): boolean => c !== undefined && /^[0-9a-fA-F]$/.test(c);
/** The number of code points of the escape sequence at an offset; 0 for an invalid one. */
export function escapeLength(points: readonly string[], offset: number): number {
  const c = points[offset + 1];
  if (c === undefined) return 0;
  if ("abfnrtv\"'\\?`".includes(c)) return 2;
  const hex = c === "x" || c === "X" ? 2 : c === "u" ? 4 : c === "U" ? 8 : 0;
  if (hex > 0) {
    for (let i = 0; i < hex; i++) if (!isHex(points[offset + 2 + i])) return 0;
    return 2 + hex;
  }
  if (c >= "0" && c <= "3" && octal(points[offset + 2]) && octal(points[offset + 3])) return 4;
  return 0;
}

const octal = (c: string | undefined): boolean => c !== undefined && c >= "0" && c <= "7" && c.length === 1;

const simpleEscapes: Readonly<Record<string, number>> = {
  a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '"': 34, "'": 39, "\\": 92, "?": 63, "`": 96,
}; // biome-ignore format: a table reads better in lines

/** The code point or byte of an escape sequence. */
export function escapeCode(points: readonly string[], offset: number, length: number): number {
  const kind = points[offset + 1]!;
  if (length === 2) return simpleEscapes[kind]!;
  if (kind >= "0" && kind <= "3") return Number.parseInt(points.slice(offset + 1, offset + 4).join(""), 8);
  return Number.parseInt(points.slice(offset + 2, offset + length).join(""), 16);
}
