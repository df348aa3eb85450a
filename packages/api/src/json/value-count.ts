/** A tree has more values than its reader accepts: fields, keys of maps and elements of lists. */
export class TooManyValuesError extends Error {
  override readonly name = "TooManyValuesError";
  readonly limit: number;

  constructor(limit: number) {
    super(`more than ${limit} fields, keys and elements`);
    this.limit = limit;
  }
}

/**
 * Counts the values of a tree, without those of its part `except`. Throws TooManyValuesError if there are
 * more than `limit`, and looks at no more than that.
 */
export function countValues(tree: unknown, limit = Number.POSITIVE_INFINITY, except?: unknown): number {
  let count = 0;
  const open = [tree];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    count += parts.length;
    if (count > limit) throw new TooManyValuesError(limit);
    for (const part of parts)
      if (typeof part === "object" && part !== null && part !== except) open.push(part);
  }
  return count;
}
