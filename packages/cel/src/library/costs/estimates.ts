import type { Expr } from "../../syntax/ast.ts";
import type { CelType } from "../../values/types.ts";
import * as sizes from "./size-estimate.ts";
import { anySize, plus, type SizeEstimate, scaled, times } from "./size-estimate.ts";

/** An argument or receiver of a call (cel-go's checker.AstNode). */
export interface Operand {
  readonly expr: Expr;
  readonly type: CelType;
  readonly size: SizeEstimate | undefined;
  /** The size of each element, if the environment bounds it. */
  readonly elementSize: SizeEstimate | undefined;
}

/**
 * The maximum cost of a call, without its operands, and the size of its result (cel-go's
 * checker.CallEstimate).
 */
export interface CallEstimate {
  readonly cost: bigint;
  /** Undefined: the size follows from the type. */
  readonly size?: SizeEstimate | undefined;
}

/** Returns undefined if the rule does not apply: the call costs 1 then. A receiver is the first operand. */
export type Estimate = (operands: readonly Operand[]) => CallEstimate | undefined;

export const sizeAt = (operands: readonly Operand[], i: number): SizeEstimate => operands[i]?.size ?? anySize;
export const maxAt = (operands: readonly Operand[], i: number): bigint => sizeAt(operands, i).max;

/** The cost of traversing a string. */
export const stringCost = (length: bigint): bigint => scaled(length, 0.1);

/** The value of an integer literal; 0 for a negative one. */
export function literalInt(operand: Operand | undefined, otherwise: bigint): bigint {
  if (operand?.expr.kind !== "literal" || typeof operand.expr.value !== "bigint") return otherwise;
  return operand.expr.value < 0n ? 0n : operand.expr.value;
}

/** The result is a list, which costs 10 plus its length. */
export const makesList = (size: SizeEstimate, factor = 1): CallEstimate => ({
  cost: plus(scaled(size.max, factor), 11n),
  size,
});

/** Each element of an operand is compared with each other one; strings and bytes are traversed. */
export const comparesEach =
  (of: number, isText = false): Estimate =>
  (operands) =>
    makesList(sizes.productSize(sizeAt(operands, of), sizeAt(operands, of)), isText ? 2.1 : 2);

export const pairs =
  (factor: number): Estimate =>
  (operands) => ({
    cost: plus(scaled(times(maxAt(operands, 0), maxAt(operands, 1)), factor), 1n),
  });

export const traversesFirst =
  (factor: number, keepsSize = false): Estimate =>
  (operands) =>
    operands.length === 0
      ? undefined
      : {
          cost: scaled(maxAt(operands, 0), factor),
          size: keepsSize ? sizeAt(operands, 0) : undefined,
        };

/** A list whose element type is unknown counts as a string for functions that strings have, too. */
export const elementwise =
  (unknown: (count: bigint) => bigint): Estimate =>
  ([list]) => {
    const element = list?.type.params[0];
    const count = (list?.size ?? anySize).max;
    if (element === undefined) return { cost: unknown(count) };
    const isText = element.kind === "string" || element.kind === "bytes";
    const each = isText ? plus(1n, stringCost((list?.elementSize ?? anySize).max)) : 1n;
    return { cost: times(count, each) };
  };

/** A regular expression, the second operand, is searched in the first one. */
export const search = (operands: readonly Operand[]): bigint =>
  times(stringCost(plus(maxAt(operands, 0), 1n)), scaled(maxAt(operands, 1), 0.25));

export const shorter: Estimate = (operands) => ({
  cost: stringCost(sizes.smaller(maxAt(operands, 0), maxAt(operands, 1))),
});

export const concatenation =
  (cost: (size: bigint) => bigint): Estimate =>
  (operands) => {
    const size = sizes.sumSize(sizeAt(operands, 0), sizeAt(operands, 1));
    return { cost: cost(size.max), size };
  };

/** A conversion of a string, by the size of its result. */
export const conversion =
  (result: (size: SizeEstimate) => SizeEstimate): Estimate =>
  (operands) => {
    const size = sizeAt(operands, 0);
    return { cost: stringCost(size.max), size: result(size) };
  };
