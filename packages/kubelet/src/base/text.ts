/** Maximum length of a text of a driver, or about one, in a status or an error, in characters. */
export const maxText = 1024;

/** The text, or as much of its beginning as fits into `max` characters together with a mark that says what is missing. */
export function shortened(text: string, max = maxText): string {
  if (text.length <= max) return text;
  const mark = `... (${text.length} characters, shortened)`;
  // A copy: a slice would keep the whole text in memory.
  return Buffer.from(text.slice(0, Math.max(0, max - mark.length))).toString() + mark;
}
