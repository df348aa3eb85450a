import * as charges from "./charges.ts";
import * as estimates from "./estimates.ts";

/**
 * The cost of a call, without that of its arguments. Has two rules because upstream has two: estimates in
 * 64-bit integers that saturate or wrap as in Go, and run-time costs of actual values. Without a rule a call
 * costs 1.
 */
export interface Cost {
  /** The maximum before evaluation. Upstream: cel-go checker/cost.go */
  readonly estimate?: estimates.Estimate;
  /** The cost of an evaluation. Upstream: cel-go interpreter/runtimecost.go */
  readonly charge?: charges.Charge;
}

/** The first argument, a string, is traversed. */
export const traversal: Cost = { estimate: estimates.traversesFirst(0.1), charge: charges.first };

/** The first argument, a string, is traversed, and bounds the size of the result. */
export const mapping: Cost = { estimate: estimates.traversesFirst(0.1, true), charge: charges.first };

/** The second argument, a string, is traversed. */
export const affix: Cost = {
  estimate: (operands) => ({ cost: estimates.stringCost(estimates.maxAt(operands, 1)) }),
  charge: charges.second,
};

/** Both arguments are traversed up to the end of the shorter one. */
export const comparison: Cost = { estimate: estimates.shorter, charge: charges.shorter };

/** Both arguments are copied. */
export const concatenation: Cost = {
  estimate: estimates.concatenation(estimates.stringCost),
  charge: charges.both,
};

/** Each element of the first argument is compared with each of the second one, a number of times. */
export const pairs = (factor: number): Cost => ({
  estimate: estimates.pairs(factor),
  charge: charges.pairs(factor),
});

/** Every element of a list is traversed. Upstream applies it to strings, too: by the name of the function. */
export const elementwise: Cost = {
  estimate: estimates.elementwise(estimates.stringCost),
  charge: charges.elementwise,
};
