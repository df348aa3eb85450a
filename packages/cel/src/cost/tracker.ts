import type { ElementBudget } from "../values/element-budget.ts";
import { utf8Length } from "../values/text.ts";
import { CelError, costSize, MapValue, typeName, type Value } from "../values/value.ts";
import { type CallCost, constantTime, costRule, elementwise } from "./tracker-rules.ts";
import { valueCost } from "./tracker-value-rules.ts";

/**
 * The run-time cost of calls of a function, as a number where it is constant. `overloadId` is "" where the
 * overload is known only at run time. Kubernetes' cost estimator has precedence over cel-go's cost tracker.
 */
export function callCost(name: string, overloadId: string, arity: number): number | CallCost {
  const special = valueCost(overloadId);
  if (special !== undefined) return special;
  if (elementwise.has(name)) return (list, _b, _c, _d, _result, { budget }) => visit(list, budget);
  if (name === "join") return (_a, _b, _c, _d, result) => Math.ceil(costSize(result) * 2 * 0.1);
  const rule = costRule(name, overloadId);
  if (rule === undefined) return 1;
  // All evaluations share one array: no rule keeps it.
  const sizes = new Array<number>(arity).fill(1);
  const usesResult = rule.length > 1;
  const cost: CallCost = (a, b, c, d, result) => {
    sizes[0] = costSize(a);
    if (arity > 1) sizes[1] = costSize(b);
    if (arity > 2) sizes[2] = costSize(c);
    if (arity > 3) sizes[3] = costSize(d);
    return rule(sizes, usesResult ? costSize(result) : 1);
  };
  if (name !== "_==_") return cost;
  return (a, b, c, d, result, context) =>
    constantTime.has(typeName(a)) ? 1 : cost(a, b, c, d, result, context);
}

/** The cost of traversing a value with all nested values. */
function visit(value: Value, budget: ElementBudget): number {
  if (typeof value === "string") return Math.trunc(utf8Length(value) * 0.1);
  if (value instanceof Uint8Array) return Math.trunc(value.length * 0.1);
  if (value instanceof CelError) return 1;
  budget.spend(costSize(value));
  let sum = 0;
  if (Array.isArray(value)) for (const element of value as readonly Value[]) sum += visit(element, budget);
  else if (value instanceof MapValue)
    for (const key of value.keys()) sum += visit(key, budget) + visit(value.find(key)!, budget);
  else return 1;
  return sum;
}
