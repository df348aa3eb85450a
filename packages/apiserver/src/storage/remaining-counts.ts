/** Maximum number of cached counts: one for each list that is read page by page, if clients are not slow. */
const maxCounts = 10_000;

/**
 * Numbers of objects behind the page at whose end a continue token was given (`remainingItemCount`), so that the next page
 * need not count them again.
 */
export class RemainingCounts {
  readonly #counts = new Map<string, number>();

  /** Undefined if the count was never set, or has been dropped as the oldest. */
  get(prefix: string, token: string): number | undefined {
    return this.#counts.get(prefix + token);
  }

  set(prefix: string, token: string, count: number): void {
    this.#counts.set(prefix + token, count);
    if (this.#counts.size <= maxCounts) return;
    for (const oldest of this.#counts.keys()) {
      this.#counts.delete(oldest);
      return;
    }
  }
}
