import type { CallContext } from "../library/call-context.ts";
import type { Charge, ValueCharge } from "../library/costs/charges.ts";
import { costSize } from "../values/value.ts";

/** Returns the run-time cost of calls, as a number where it is constant. */
export function callCost(
  charge: Charge | undefined,
  arity: number,
  context: CallContext,
): number | ValueCharge {
  if (charge === undefined) return 1;
  if ("byValues" in charge) return charge.byValues;
  if ("inContext" in charge) return charge.inContext(context);
  const rule = charge.bySizes;
  // All evaluations share one array: no rule keeps it.
  const sizes = new Array<number>(arity).fill(1);
  const usesResult = rule.length > 1;
  return (a, b, c, result) => {
    sizes[0] = costSize(a);
    if (arity > 1) sizes[1] = costSize(b);
    if (arity > 2) sizes[2] = costSize(c);
    return rule(sizes, usesResult ? costSize(result) : 1);
  };
}
