/** Maximum number of names in a line. */
const maxNames = 3;

/** `1 pod`, `2 pods` */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `a, b, c and 4 more` */
export function names(list: readonly string[], all = list.length): string {
  const shown = list.slice(0, maxNames);
  const rest = all - shown.length;
  return rest > 0 ? `${shown.join(", ")} and ${rest} more` : shown.join(", ");
}
