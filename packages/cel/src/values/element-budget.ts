/**
 * Maximum number of list elements and map entries that one evaluation may copy, compare or format, with the
 * work of its regular expressions.
 */
const maxElements = 5_000_000;

/**
 * Bounds work that cel-go does not charge for: it concatenates lists without copying, and compares nested
 * lists at no cost. An expression that doubles a list repeatedly is cheap there and must not exhaust time or
 * memory here.
 */
export class ElementBudget {
  #spent = 0;

  /** Starts a new evaluation. */
  reset(): void {
    this.#spent = 0;
  }

  /** As `spend`, for regular expressions: `work` is that of `patternWork`. */
  match(work: number): void {
    this.#spent += work;
    if (this.#spent > maxElements)
      throw new RangeError("too much work for regular expressions on long texts");
  }

  /**
   * Must be called before the work. Throws a RangeError when the budget is exceeded, which ends the
   * evaluation.
   */
  spend(elements: number): void {
    this.#spent += elements;
    if (this.#spent > maxElements) throw new RangeError("too many elements of lists and maps");
  }
}
