/**
 * Maximum length of a line of a log, in characters: a reader can hold it, and one text of a driver cannot
 * fill a file.
 */
export const maxLineLength = 32 * 1024;
/** Maximum lengths of a text in a long line, tried in order until the line fits. */
const textLengths = [4096, 1024, 256, 64];
const maxItems = 100;

/** Returns the line, with texts and lists cut if it is too long. `line` is JSON with a line end. */
export function boundedLine(line: string): string {
  if (line.length <= maxLineLength) return line;
  const fields = JSON.parse(line) as unknown;
  for (const length of textLengths) {
    const shorter = `${JSON.stringify(cut(fields, length))}\n`;
    if (shorter.length <= maxLineLength) return shorter;
  }
  // For many small fields: keeps those of every line.
  const { level, time, component, msg } = fields as Record<string, unknown>;
  const shortened = { level, time, component, msg, cutFrom: line.length };
  return `${JSON.stringify(cut(shortened, textLengths[0]!))}\n`;
}

function cut(value: unknown, length: number): unknown {
  if (typeof value === "string") {
    return value.length <= length ? value : `${value.slice(0, length)}... (${value.length} characters)`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.slice(0, maxItems).map((item) => cut(item, length));
    return value.length <= maxItems ? items : [...items, `... (${value.length} items)`];
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item, length)]));
}
