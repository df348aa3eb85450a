/** Maximum length of a text from or about a driver in a status or an error, in characters. */
const maxText = 1024;

/** Returns the text, shortened to `max` characters with a mark that says how long it was. */
export function shortened(text: string, max = maxText): string {
  if (text.length <= max) return text;
  const mark = `... (${text.length} characters, shortened)`;
  // A slice would keep the whole text in memory.
  return Buffer.from(text.slice(0, Math.max(0, max - mark.length))).toString() + mark;
}
