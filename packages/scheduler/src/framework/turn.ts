/**
 * CEL's cost that one turn of the event loop may spend, about ten milliseconds: one selector on one device may cost
 * 1,000,000 (CELSelectorExpressionMaxCost).
 */
const mostCost = 1_000_000;
/** Added for each evaluation: preparing the device takes time that CEL does not count. */
const leastCost = 100;

/** Thrown to end an attempt for this turn; it begins again in the next one with the results of selectors so far. */
export class TurnIsOver extends Error {
  override readonly name = "TurnIsOver";
}

/**
 * Lets others have a turn while the selectors of a pod's claims are evaluated: a user may write some that take a
 * millisecond for each device, and there are thousands of devices.
 */
export class Turn {
  #left = mostCost;

  begin(): void {
    this.#left = mostCost;
  }

  /** Throws TurnIsOver when the cost is spent: not before one evaluation is done. */
  spend(cost: number): void {
    this.#left -= cost + leastCost;
    if (this.#left < 0) throw new TurnIsOver();
  }
}
