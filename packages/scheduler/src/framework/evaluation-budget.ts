/**
 * Maximum CEL cost for each turn of the event loop, about ten milliseconds: one selector on one device may
 * cost 1,000,000 (CELSelectorExpressionMaxCost).
 */
const maxEvaluationCost = 1_000_000;
/** Added to the cost of each evaluation: preparing the device takes time that CEL does not count. */
const minEvaluationCost = 100;

/**
 * Ends an attempt for this turn of the event loop; the next turn tries again with the selector results so
 * far.
 */
export class BudgetExceeded extends Error {
  override readonly name = "BudgetExceeded";
}

/**
 * Yields to the event loop while the selectors of a pod's claims are evaluated: users may write selectors
 * that take a millisecond for each device, and there are thousands of devices.
 */
export class EvaluationBudget {
  #left = maxEvaluationCost;

  begin(): void {
    this.#left = maxEvaluationCost;
  }

  /** Repeats an attempt until a budget suffices: the selector results so far bring each one forward. */
  repeat<T>(attempt: () => T): T {
    for (;;) {
      this.begin();
      try {
        return attempt();
      } catch (error) {
        if (!(error instanceof BudgetExceeded)) throw error;
      }
    }
  }

  /** Throws BudgetExceeded when the cost is spent: not before one evaluation is done. */
  spend(cost: number): void {
    this.#left -= cost + minEvaluationCost;
    if (this.#left < 0) throw new BudgetExceeded();
  }
}
