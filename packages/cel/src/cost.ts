import { constantTime, costRule, elementwise } from "./cost-rules.ts";
import { CelError, costSize, MapValue, typeName, type Value } from "./values.ts";

/** What a call spends: its arguments are paid for already. */
export type CallCost = (args: readonly Value[], result: Value) => number;

/** The cost of calls of a function in that form ("" where the form is only known at run time); undefined: always 1. */
export function callCost(name: string, form: string): CallCost | undefined {
  if (elementwise.has(name)) return ([list]) => (list === undefined ? 0 : visit(list));
  if (name === "join") return (_, result) => Math.ceil(costSize(result) * 0.2);
  const rule = costRule(name, form);
  if (rule === undefined) return undefined;
  const cost: CallCost = (args, result) => rule(args.map(costSize), costSize(result));
  if (name !== "_==_") return cost;
  return (args, result) => (constantTime.has(typeName(args[0]!)) ? 1 : cost(args, result));
}

/** What it costs to look at a value with all that is in it. */
function visit(value: Value): number {
  if (typeof value === "string") return Math.trunc(new TextEncoder().encode(value).length * 0.1);
  if (value instanceof Uint8Array) return Math.trunc(value.length * 0.1);
  if (value instanceof CelError) return 1;
  if (Array.isArray(value)) return value.reduce((sum: number, element) => sum + visit(element), 0);
  if (!(value instanceof MapValue)) return 1;
  let sum = 0;
  for (const key of value.keys()) sum += visit(key) + visit(value.find(key)!);
  return sum;
}
