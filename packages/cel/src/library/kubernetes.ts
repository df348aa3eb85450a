import { Quantity, QuantityError } from "@dray/api";
import { declare, type FunctionDeclaration, form, type Implementation, method } from "../declarations.ts";
import { boolType, doubleType, dynType, intType, quantityType, stringType } from "../types.ts";
import { CelError, equal, inInt, QuantityValue, type Value } from "../values.ts";

const noInteger = new CelError("cannot convert value to integer");
const quantity = (value: Value): Quantity => (value as QuantityValue).quantity;

function parseQuantity(text: string): Value {
  try {
    return new QuantityValue(Quantity.parse(text));
  } catch (error) {
    if (error instanceof QuantityError) return new CelError(error.message);
    throw error;
  }
}

const wholeInt64 = (value: Quantity): boolean => value.isInteger() && inInt(value.value());
const computed = (value: Quantity): Value => new QuantityValue(value, true);
const other = (value: Value): Quantity => (typeof value === "bigint" ? Quantity.of(value) : quantity(value));

const two = (name: string, result: typeof boolType, invoke: Implementation): FunctionDeclaration =>
  declare(name, [method(`quantity_${name}`, [quantityType, quantityType], result, invoke)]);

const arithmetic = (name: "add" | "sub"): FunctionDeclaration => {
  const invoke: Implementation = (a, b) => computed(quantity(a)[name](other(b)));
  return declare(name, [
    method(`quantity_${name}`, [quantityType, quantityType], quantityType, invoke),
    method(`quantity_${name}_int`, [quantityType, intType], quantityType, invoke),
  ]);
};

/** Quantities (Kubernetes CEL library of 1.28). */
export const quantityLibrary: readonly FunctionDeclaration[] = [
  declare("quantity", [
    form("string_to_quantity", [stringType], quantityType, (a) => parseQuantity(a as string)),
  ]),
  declare("isQuantity", [
    form(
      "is_quantity_string",
      [stringType],
      boolType,
      (a) => !(parseQuantity(a as string) instanceof CelError),
    ),
  ]),
  declare("sign", [form("quantity_sign", [quantityType], intType, (a) => BigInt(quantity(a).sign))]),
  declare("isInteger", [
    method("quantity_is_integer", [quantityType], boolType, (a) => wholeInt64(quantity(a))),
  ]),
  declare("asInteger", [
    method("quantity_as_integer", [quantityType], intType, (a) =>
      wholeInt64(quantity(a)) ? quantity(a).value() : noInteger,
    ),
  ]),
  declare("asApproximateFloat", [
    method("quantity_as_approximate_float", [quantityType], doubleType, (a) => quantity(a).toNumber()),
  ]),
  two("isGreaterThan", boolType, (a, b) => quantity(a).compare(quantity(b)) > 0),
  two("isLessThan", boolType, (a, b) => quantity(a).compare(quantity(b)) < 0),
  two("compareTo", intType, (a, b) => BigInt(quantity(a).compare(quantity(b)))),
  arithmetic("add"),
  arithmetic("sub"),
];

/** A scalar equals, a list has an equal element; comparisons that fail count as false (KEP-5491). */
function includes(container: Value, value: Value): Value {
  if (!Array.isArray(container)) return equal(container, value) === true;
  if (container.length > longestList) {
    return new CelError(`list attribute has ${container.length} elements, more than ${longestList}`);
  }
  return container.some((element) => equal(element, value) === true);
}

/** Values of one attribute (ResourceSliceMaxAttributeValuesPerDevice). */
const longestList = 48;

/** `includes()` of DRA, behind the gate of list attributes. */
export const includesLibrary: readonly FunctionDeclaration[] = [
  declare("includes", [method("dyn_includes_dyn", [dynType, dynType], boolType, includes)]),
];
