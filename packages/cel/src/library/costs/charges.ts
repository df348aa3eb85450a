import type { ElementBudget } from "../../values/element-budget.ts";
import { utf8Length } from "../../values/text.ts";
import { CelError, costSize, MapValue, type Value } from "../../values/value.ts";
import type { CallContext } from "../call-context.ts";

/**
 * The cost of one call by its arguments and its result, without the cost of the arguments. No function is
 * charged by its fourth argument.
 */
export type ValueCharge = (a: Value, b: Value, c: Value, result: Value) => number;

/**
 * The cost of one call by the sizes of its arguments (a receiver comes first) and of its result: code points,
 * bytes, elements.
 */
export type SizeCharge = (sizes: readonly number[], result: number) => number;

/** The run-time cost of a function's calls. */
export type Charge =
  | { readonly bySizes: SizeCharge }
  | { readonly byValues: ValueCharge }
  /** Made for each call in a program. */
  | { readonly inContext: (context: CallContext) => ValueCharge };

/** The cost of traversing a string. */
export const stringCost = (length: number): number => Math.ceil(length * 0.1);
/** The factor for a regular expression. */
export const patternCost = (length: number): number => Math.ceil(length * 0.25);
export const sizeAt = (sizes: readonly number[], i: number): number => sizes[i] ?? 1;

export const bySizes = (rule: SizeCharge): Charge => ({ bySizes: rule });
export const byValues = (rule: ValueCharge): Charge => ({ byValues: rule });

export const first: Charge = bySizes((sizes) => stringCost(sizeAt(sizes, 0)));
export const firstTwice: Charge = bySizes((sizes) => Math.ceil(sizeAt(sizes, 0) * 0.2));
export const second: Charge = bySizes((sizes) => stringCost(sizeAt(sizes, 1)));
export const shorter: Charge = bySizes((sizes) => stringCost(Math.min(sizeAt(sizes, 0), sizeAt(sizes, 1))));
export const both: Charge = bySizes((sizes) => stringCost(sizeAt(sizes, 0) + sizeAt(sizes, 1)));
export const search: Charge = bySizes(
  (sizes) => stringCost(1 + sizeAt(sizes, 0)) * patternCost(sizeAt(sizes, 1)),
);
export const pairs = (factor: number): Charge =>
  bySizes((sizes) => 1 + factor * (sizeAt(sizes, 0) * sizeAt(sizes, 1)));
/** The result is a list, which costs 10 plus its length. */
export const makesList: Charge = bySizes((_, result) => 11 + result);

/** Every element of a list is traversed, with all nested values. */
export const elementwise: Charge = {
  inContext:
    ({ budget }) =>
    (list) =>
      visit(list, budget),
};

function visit(value: Value, budget: ElementBudget): number {
  if (typeof value === "string") return Math.trunc(utf8Length(value) * 0.1);
  if (value instanceof Uint8Array) return Math.trunc(value.length * 0.1);
  if (value instanceof CelError) return 1;
  budget.spend(costSize(value));
  let sum = 0;
  if (Array.isArray(value)) for (const element of value as readonly Value[]) sum += visit(element, budget);
  else if (value instanceof MapValue)
    for (const [key, inner] of value.entries()) sum += visit(key, budget) + visit(inner, budget);
  else return 1;
  return sum;
}
