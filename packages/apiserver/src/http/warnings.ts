/**
 * Maximum length of all texts of one response, and of each text if the total is exceeded
 * (apiserver/pkg/endpoints/filters).
 */
const maxTotalLength = 4 * 1024;
const maxTextLength = 256;

/**
 * Returns the Warning headers of a response, in order, without empty texts and those with control characters.
 * If the total is too long, each text is truncated, and the last ones are dropped.
 */
export function warningHeaders(texts: ReadonlySet<string>): string[] {
  const distinct = [...texts].filter((text) => text !== "");
  const lengths = distinct.map((text) => (isSendable(text) ? charactersOf(text).length : 0));
  let total = 0;
  const overflow = lengths.findIndex((length) => {
    total += length;
    return total > maxTotalLength;
  });
  return (overflow < 0 ? distinct : shortened(distinct, overflow)).filter(isSendable).map(warningHeader);
}

/**
 * `overflow`: index of the first text beyond the limit. All texts before it stay, truncated; then as many as
 * fit.
 */
function shortened(texts: readonly string[], overflow: number): string[] {
  let total = 0;
  return texts.flatMap((text, index) => {
    if (index > overflow && total >= maxTotalLength) return [];
    const cut = charactersOf(text).slice(0, maxTextLength);
    if (isSendable(text)) total += cut.length;
    return [cut.join("")];
  });
}

const charactersOf = (text: string): string[] => [...text];

const isSendable = (text: string): boolean => !/\p{Cc}/u.test(text);

/**
 * `299 - "text"` (RFC 9111): quotes and backslashes escaped, UTF-8 as the bytes that Node writes for Latin-1.
 */
function warningHeader(text: string): string {
  const bytes = Buffer.from(text.replace(/(["\\])/g, "\\$1"), "utf8");
  return `299 - "${bytes.toString("latin1")}"`;
}

/** Returns the common headers of all resource responses. */
export function headersOf({
  warnings,
}: {
  readonly warnings: ReadonlySet<string>;
}): Record<string, string | readonly string[]> {
  const warning = warningHeaders(warnings);
  return warning.length === 0 ? {} : { warning };
}
