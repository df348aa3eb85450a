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
 * Throws TooManyValuesError if a tree has more values than `limit`, without those of its part `except`; looks
 * at no more than that.
 */
export function checkValueCount(tree: unknown, limit: number, except?: unknown): void {
  let remaining = limit;
  const open = [tree];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    remaining -= parts.length;
    if (remaining < 0) throw new TooManyValuesError(limit);
    for (const part of parts)
      if (typeof part === "object" && part !== null && part !== except) open.push(part);
  }
}
