import { touchElements } from "../values/budget.ts";
import { utf8Length } from "../values/text.ts";
import { CelError, costSize, MapValue, typeName, type Value } from "../values/value.ts";
import { type CallCost, constantTime, costRule, elementwise } from "./tracker-rules.ts";
import { valueCost } from "./tracker-value-rules.ts";

/**
 * The cost of calls of a function in that form ("" where the form is only known at run time), as a number where it is
 * always the same. It follows Kubernetes' cost estimator first and then cel-go's cost tracker.
 */
export function callCost(name: string, form: string, arity: number): number | CallCost {
  const special = valueCost(form);
  if (special !== undefined) return special;
  if (elementwise.has(name)) return (list) => visit(list);
  if (name === "join") return (_a, _b, _c, _d, result) => Math.ceil(costSize(result) * 2 * 0.1);
  const rule = costRule(name, form);
  if (rule === undefined) return 1;
  // One array serves all evaluations: nothing keeps it.
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
  return (a, b, c, d, result) => (constantTime.has(typeName(a)) ? 1 : cost(a, b, c, d, result));
}

/** What it costs to look at a value with all that is in it. */
function visit(value: Value): number {
  if (typeof value === "string") return Math.trunc(utf8Length(value) * 0.1);
  if (value instanceof Uint8Array) return Math.trunc(value.length * 0.1);
  if (value instanceof CelError) return 1;
  touchElements(costSize(value));
  let sum = 0;
  if (Array.isArray(value)) for (const element of value as readonly Value[]) sum += visit(element);
  else if (value instanceof MapValue)
    for (const key of value.keys()) sum += visit(key) + visit(value.find(key)!);
  else return 1;
  return sum;
}
