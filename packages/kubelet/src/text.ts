/** The text, or as much of its beginning as fits into `max` characters together with a mark that says what is missing. */
export function shortened(text: string, max: number): string {
  if (text.length <= max) return text;
  const mark = `... (${text.length} characters, shortened)`;
  let end = Math.max(0, max - mark.length);
  // Half of a character outside the basic plane is no text.
  if (/[\ud800-\udbff]/.test(text[end - 1] ?? "")) end--;
  return text.slice(0, end) + mark;
}
