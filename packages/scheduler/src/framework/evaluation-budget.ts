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

  /** Throws BudgetExceeded when the cost is spent: not before one evaluation is done. */
  spend(cost: number): void {
    this.#left -= cost + minEvaluationCost;
    if (this.#left < 0) throw new BudgetExceeded();
  }
}
