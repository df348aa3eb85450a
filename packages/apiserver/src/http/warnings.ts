/** Characters in all texts of one answer, and in each text where there are more (apiserver/pkg/endpoints/filters). */
const totalLimit = 4 * 1024;
const textLimit = 256;

/**
 * The Warning headers of an answer, in their order; none for empty texts and for those with control characters. Where all of them together are too long, each is cut, and the last ones are left out.
 */
export function warningHeaders(texts: ReadonlySet<string>): string[] {
  const distinct = [...texts].filter((text) => text !== "");
  const lengths = distinct.map((text) => (isSendable(text) ? charactersOf(text).length : 0));
  let total = 0;
  const overflow = lengths.findIndex((length) => {
    total += length;
    return total > totalLimit;
  });
  return (overflow < 0 ? distinct : shortened(distinct, overflow)).filter(isSendable).map(warningHeader);
}

/** `overflow`: the place of the text that is too much. Up to there all stay, cut; then what there is room for. */
function shortened(texts: readonly string[], overflow: number): string[] {
  let total = 0;
  return texts.flatMap((text, index) => {
    if (index > overflow && total >= totalLimit) return [];
    const cut = charactersOf(text).slice(0, textLimit);
    if (isSendable(text)) total += cut.length;
    return [cut.join("")];
  });
}

const charactersOf = (text: string): string[] => [...text];

const isSendable = (text: string): boolean => !/\p{Cc}/u.test(text);

/** `299 - "text"` (RFC 9111): quotes and backslashes escaped, UTF-8 in the bytes that Node writes for Latin-1. */
function warningHeader(text: string): string {
  const bytes = Buffer.from(text.replace(/(["\\])/g, "\\$1"), "utf8");
  return `299 - "${bytes.toString("latin1")}"`;
}

/** The headers that every answer of a resource has. */
export function headersOf({
  warnings,
}: {
  readonly warnings: ReadonlySet<string>;
}): Record<string, string | readonly string[]> {
  const warning = warningHeaders(warnings);
  return warning.length === 0 ? {} : { warning };
}
