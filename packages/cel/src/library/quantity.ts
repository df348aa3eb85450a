import { Quantity, QuantityError } from "@dray/api";
import {
  type Amount,
  addAmounts,
  amountOf,
  approximate,
  integerOf,
  quantityOf,
  subtractAmounts,
} from "../values/amount.ts";
import { boolType, doubleType, intType, quantityType, stringType } from "../values/types.ts";
import { CelError, QuantityValue, type Value } from "../values/value.ts";
import { traversal } from "./costs/cost.ts";
import {
  declare,
  type FunctionDeclaration,
  type Implementation,
  method,
  overload,
  priced,
} from "./declarations.ts";

const noInteger = new CelError("cannot convert value to integer");
const quantity = (value: Value): Quantity => (value as QuantityValue).quantity;

function parseQuantity(text: string): Value {
  try {
    return new QuantityValue(Quantity.parse(text), text);
  } catch (error) {
    if (error instanceof QuantityError) return new CelError(error.message);
    throw error;
  }
}

const amount = (value: Value): Amount => {
  if (typeof value === "bigint") return { digits: value, exponent: 0, short: true };
  const { source } = value as QuantityValue;
  return typeof source === "string" ? amountOf(source) : source;
};

const two = (name: string, result: typeof boolType, invoke: Implementation): FunctionDeclaration =>
  declare(name, [method(`quantity_${name}`, [quantityType, quantityType], result, invoke)]);

const arithmetic = (name: string, compute: (a: Amount, b: Amount) => Amount): FunctionDeclaration => {
  const invoke: Implementation = (a, b) => {
    const result = compute(amount(a), amount(b));
    return new QuantityValue(quantityOf(result), result);
  };
  return declare(name, [
    method(`quantity_${name}`, [quantityType, quantityType], quantityType, invoke),
    method(`quantity_${name}_int`, [quantityType, intType], quantityType, invoke),
  ]);
};

/** Quantities (Kubernetes CEL library of 1.28). */
export const quantityLibrary: readonly FunctionDeclaration[] = [
  priced(traversal, {
    ...declare("quantity", [
      overload("string_to_quantity", [stringType], quantityType, (a) => parseQuantity(a as string)),
    ]),
    parsesConstants: true,
  }),
  priced(traversal, {
    ...declare("isQuantity", [
      overload(
        "is_quantity_string",
        [stringType],
        boolType,
        (a) => !(parseQuantity(a as string) instanceof CelError),
      ),
    ]),
    parsesConstants: true,
  }),
  declare("sign", [overload("quantity_sign", [quantityType], intType, (a) => BigInt(quantity(a).sign))]),
  declare("isInteger", [
    method("quantity_is_integer", [quantityType], boolType, (a) => integerOf(amount(a)) !== undefined),
  ]),
  declare("asInteger", [
    method("quantity_as_integer", [quantityType], intType, (a) => integerOf(amount(a)) ?? noInteger),
  ]),
  declare("asApproximateFloat", [
    method("quantity_as_approximate_float", [quantityType], doubleType, (a) => approximate(amount(a))),
  ]),
  two("isGreaterThan", boolType, (a, b) => quantity(a).compare(quantity(b)) > 0),
  two("isLessThan", boolType, (a, b) => quantity(a).compare(quantity(b)) < 0),
  two("compareTo", intType, (a, b) => BigInt(quantity(a).compare(quantity(b)))),
  arithmetic("add", addAmounts),
  arithmetic("sub", subtractAmounts),
];
