/** So many are remembered: one for each list that is read page by page, if clients are not slow. */
const most = 10_000;

/** How many objects lie behind the page at whose end a continue token was given, so that none need count them again. */
export class Remainders {
  readonly #counts = new Map<string, number>();

  /** Undefined for what was never told, or is long ago. */
  get(prefix: string, token: string): number | undefined {
    return this.#counts.get(prefix + token);
  }

  set(prefix: string, token: string, count: number): void {
    this.#counts.set(prefix + token, count);
    if (this.#counts.size <= most) return;
    for (const oldest of this.#counts.keys()) {
      this.#counts.delete(oldest);
      return;
    }
  }
}
