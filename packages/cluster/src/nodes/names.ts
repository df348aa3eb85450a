/** `worker-1` to `worker-<count>`. */
export function nodeNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `worker-${i + 1}`);
}

/** Maximum number of names in a text. */
const maxNames = 5;

/** The names, or the first of many and how many more there are. */
export function namesText(names: readonly string[]): string {
  if (names.length <= maxNames) return names.join(", ");
  return `${names.slice(0, maxNames - 1).join(", ")} and ${names.length - maxNames + 1} more`;
}
