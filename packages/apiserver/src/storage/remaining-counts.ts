/** Maximum number of cached counts: one for each paged list in progress, unless clients are slow. */
const maxCounts = 10_000;

/**
 * Caches the number of objects behind the page of a continue token (`remainingItemCount`), so that the next
 * page need not count them again.
 */
export class RemainingCounts {
  readonly #counts = new Map<string, number>();

  /** Undefined if the count was never set, or was evicted as the oldest. */
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
