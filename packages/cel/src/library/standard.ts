import type { ElementBudget } from "../values/element-budget.ts";
import { equalWithin } from "../values/equality.ts";
import { inInt, inUint } from "../values/integers.ts";
import { compare, missingOperator } from "../values/ordering.ts";
import { textLength } from "../values/text.ts";
import { timestamp } from "../values/time.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  sameType,
  stringType,
  timestampType,
  typeOf,
  uintType,
} from "../values/types.ts";
import {
  CelError,
  costSize,
  Duration,
  integerOverflow,
  MapValue,
  noSuchOverload,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  unsignedOverflow,
  type Value,
} from "../values/value.ts";
import { conversions } from "./conversions.ts";
import * as charges from "./costs/charges.ts";
import { affix, type Cost, comparison as comparisonCost, concatenation } from "./costs/cost.ts";
import * as estimates from "./costs/estimates.ts";
import { times } from "./costs/size-estimate.ts";
import {
  type Contextual,
  declare,
  type FunctionDeclaration,
  type Implementation,
  inContext,
  K,
  method,
  overload,
  priced,
  T,
  V,
} from "./declarations.ts";

const division = new CelError("division by zero");
const modulus = new CelError("modulus by zero");
const durationOverflow = integerOverflow;

const int = (value: bigint): Value => (inInt(value) ? value : integerOverflow);
const uint = (value: bigint): Value => (inUint(value) ? new Uint(value) : unsignedOverflow);

type Operator = "_+_" | "_-_" | "_*_" | "_/_" | "_%_";

const intOperators: Readonly<Record<Operator, (a: bigint, b: bigint) => Value>> = {
  "_+_": (a, b) => int(a + b),
  "_-_": (a, b) => int(a - b),
  "_*_": (a, b) => int(a * b),
  "_/_": (a, b) => (b === 0n ? division : int(a / b)),
  "_%_": (a, b) => (b === 0n ? modulus : b === -1n && a === -(2n ** 63n) ? integerOverflow : a % b),
};
const uintOperators: Readonly<Record<Operator, (a: bigint, b: bigint) => Value>> = {
  "_+_": (a, b) => uint(a + b),
  "_-_": (a, b) => uint(a - b),
  "_*_": (a, b) => uint(a * b),
  "_/_": (a, b) => (b === 0n ? division : uint(a / b)),
  "_%_": (a, b) => (b === 0n ? modulus : uint(a % b)),
};
const doubleOperators: Readonly<Partial<Record<Operator, (a: number, b: number) => Value>>> = {
  "_+_": (a, b) => a + b,
  "_-_": (a, b) => a - b,
  "_*_": (a, b) => a * b,
  "_/_": (a, b) => a / b,
};

function arithmetic(name: Operator): Contextual {
  const ints = intOperators[name];
  const uints = uintOperators[name];
  const doubles = doubleOperators[name];
  return inContext(({ budget }) => (a, b) => {
    if (typeof a === "bigint") return typeof b === "bigint" ? ints(a, b) : noSuchOverload;
    if (typeof a === "number" && doubles !== undefined) {
      return typeof b === "number" ? doubles(a, b) : noSuchOverload;
    }
    if (a instanceof Uint) return b instanceof Uint ? uints(a.value, b.value) : noSuchOverload;
    if (name === "_+_") return concatenate(a, b, budget);
    if (name === "_-_") return subtractTime(a, b);
    return missingOperator(name, a);
  });
}

function concatenate(a: Value, b: Value, budget: ElementBudget): Value {
  if (typeof a === "string") return typeof b === "string" ? a + b : noSuchOverload;
  if (Array.isArray(a)) {
    if (!Array.isArray(b)) return noSuchOverload;
    budget.spend(a.length + b.length);
    return a.concat(b);
  }
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array)) return noSuchOverload;
    const joined = new Uint8Array(a.length + b.length);
    joined.set(a);
    joined.set(b, a.length);
    return joined;
  }
  if (a instanceof Duration && b instanceof Duration) return duration(a.nanoseconds + b.nanoseconds);
  if (a instanceof Duration && b instanceof Timestamp)
    return timestamp(a.nanoseconds + b.nanoseconds, b.offset);
  if (a instanceof Timestamp && b instanceof Duration)
    return timestamp(a.nanoseconds + b.nanoseconds, a.offset);
  return a instanceof Duration || a instanceof Timestamp ? noSuchOverload : missingOperator("_+_", a);
}

function subtractTime(a: Value, b: Value): Value {
  if (a instanceof Duration) {
    return b instanceof Duration ? duration(a.nanoseconds - b.nanoseconds) : noSuchOverload;
  }
  if (a instanceof Timestamp) {
    if (b instanceof Duration) return timestamp(a.nanoseconds - b.nanoseconds, a.offset);
    return b instanceof Timestamp ? duration(a.nanoseconds - b.nanoseconds) : noSuchOverload;
  }
  return missingOperator("_-_", a);
}

function duration(nanoseconds: bigint): Value {
  return inInt(nanoseconds) ? new Duration(nanoseconds) : durationOverflow;
}

function negate(value: Value): Value {
  if (typeof value === "bigint") return int(-value);
  if (typeof value === "number") return -value;
  if (typeof value === "boolean") return noSuchOverload;
  return value instanceof Duration ? duration(-value.nanoseconds) : missingOperator("-_", value);
}

function comparison(name: string, holds: (order: number) => boolean): Implementation {
  return (a, b) => {
    const result = compare(a, b, name);
    return typeof result === "number" ? holds(result) : result;
  };
}

/** `a in b`; the needle is the left operand of each comparison. */
const contains = inContext(({ budget }) => (needle, container) => {
  if (Array.isArray(container))
    return container.some((element) => equalWithin(needle, element, budget) === true);
  if (container instanceof MapValue) return container.has(needle);
  return noSuchOverload;
});

function size(value: Value): Value {
  if (typeof value === "string") return BigInt(textLength(value));
  if (Array.isArray(value) || value instanceof Uint8Array) return BigInt(value.length);
  return value instanceof MapValue ? BigInt(value.size) : missingOperator("size", value);
}

/** `a + b` */
export const add = arithmetic("_+_");

const numeric: readonly (readonly [string, CelType])[] = [
  ["int64", intType],
  ["uint64", uintType],
  ["double", doubleType],
];

/**
 * In cel-go's order: the first overload that matches decides the type of an operand whose type is still open.
 */
function comparisonOverloads(prefix: string): ReturnType<typeof overload>[] {
  const same = (id: string, type: CelType): ReturnType<typeof overload> =>
    overload(`${prefix}_${id}`, [type, type], boolType);
  const numbers = numeric.flatMap(([left, a]) => [
    same(left, a),
    ...numeric
      .filter(([right]) => right !== left)
      .toSorted(([right], [other]) => (right < other ? -1 : 1))
      .map(([right, b]) => overload(`${prefix}_${left}_${right}`, [a, b], boolType)),
  ]);
  return [
    same("bool", boolType),
    ...numbers,
    priced(comparisonCost, same("string", stringType)),
    priced(comparisonCost, same("bytes", bytesType)),
    same("timestamp", timestampType),
    same("duration", durationType),
  ];
}

const ofNumbers = (id: string, type: CelType): ReturnType<typeof overload> =>
  overload(id, [type, type], type);
const numericOverloads = (prefix: string): ReturnType<typeof overload>[] => [
  ofNumbers(`${prefix}_double`, doubleType),
  ofNumbers(`${prefix}_int64`, intType),
  ofNumbers(`${prefix}_uint64`, uintType),
];

const list = listType(T);
const map = mapType(K, V);

const strings = (name: string, id: string, test: (a: string, b: string) => boolean): FunctionDeclaration =>
  declare(name, [method(id, [stringType, stringType], boolType)], (a, b) =>
    typeof a === "string" && typeof b === "string" ? test(a, b) : noSuchOverload,
  );

/** Types of Kubernetes whose comparison has a constant estimate. Upstream: pkg/cel/library/cost.go */
const constantEstimate: ReadonlySet<string> = new Set([
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "net.IP",
  "net.CIDR",
  "kubernetes.authorization.Authorizer",
  "kubernetes.authorization.PathCheck",
  "kubernetes.authorization.GroupCheck",
  "kubernetes.authorization.ResourceCheck",
  "kubernetes.authorization.Decision",
]);
/** Types of Kubernetes that are compared at a constant cost. */
const constantCharge: ReadonlySet<string> = new Set([
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "net.IP",
  "net.CIDR",
  "kubernetes.URL",
  "kubernetes.NamedFormat",
]);

const equalsCost: Cost = {
  estimate: (operands) => {
    const [a, b] = operands;
    if (a === undefined || b === undefined || !sameType(a.type, b.type)) return estimates.shorter(operands);
    const { name } = a.type;
    if (constantEstimate.has(name)) return { cost: 1n };
    if (name === "kubernetes.NamedFormat") return { cost: estimates.stringCost(64n) };
    if (name !== "kubernetes.URL") return estimates.shorter(operands);
    return { cost: estimates.stringCost(b.size === undefined ? 1n : b.size.max) };
  },
  charge: charges.byValues((a, b) => {
    if (constantCharge.has(typeName(a))) return 1;
    return charges.stringCost(Math.min(costSize(a), costSize(b)));
  }),
};

const logicalCost: Cost = { estimate: () => ({ cost: 0n }) };
const addListCost: Cost = { estimate: estimates.concatenation(() => 1n) };
const inListCost: Cost = {
  estimate: (operands) => ({ cost: estimates.maxAt(operands, 1) }),
  charge: charges.bySizes((sizes) => charges.sizeAt(sizes, 1)),
};
const containsCost: Cost = {
  estimate: (operands) => {
    const [text, part] = [estimates.maxAt(operands, 0), estimates.maxAt(operands, 1)];
    return { cost: times(estimates.stringCost(text), estimates.stringCost(part)) };
  },
  charge: charges.bySizes(
    (sizes) => charges.stringCost(charges.sizeAt(sizes, 0)) * charges.stringCost(charges.sizeAt(sizes, 1)),
  ),
};

/**
 * The standard functions and operators. `&&`, `||`, `?:` and indexes have nodes of their own in the program.
 */
export const standardLibrary: readonly FunctionDeclaration[] = [
  declare("_?_:_", [overload("conditional", [boolType, T, T], T)]),
  declare("_&&_", [priced(logicalCost, overload("logical_and", [boolType, boolType], boolType))]),
  declare("_||_", [priced(logicalCost, overload("logical_or", [boolType, boolType], boolType))]),
  declare("!_", [overload("logical_not", [boolType], boolType)], (a) =>
    typeof a === "boolean" ? !a : noSuchOverload,
  ),
  declare("@not_strictly_false", [overload("not_strictly_false", [boolType], boolType)]),
  declare(
    "_==_",
    [priced(equalsCost, overload("equals", [T, T], boolType))],
    inContext(
      ({ budget }) =>
        (a, b) =>
          equalWithin(a, b, budget),
    ),
  ),
  // Values that cannot be compared are not equal.
  declare(
    "_!=_",
    [priced(comparisonCost, overload("not_equals", [T, T], boolType))],
    inContext(
      ({ budget }) =>
        (a, b) =>
          equalWithin(a, b, budget) !== true,
    ),
  ),
  declare(
    "_+_",
    [
      priced(concatenation, overload("add_bytes", [bytesType, bytesType], bytesType)),
      overload("add_double", [doubleType, doubleType], doubleType),
      overload("add_duration_duration", [durationType, durationType], durationType),
      overload("add_duration_timestamp", [durationType, timestampType], timestampType),
      overload("add_timestamp_duration", [timestampType, durationType], timestampType),
      overload("add_int64", [intType, intType], intType),
      priced(addListCost, overload("add_list", [list, list], list)),
      priced(concatenation, overload("add_string", [stringType, stringType], stringType)),
      overload("add_uint64", [uintType, uintType], uintType),
    ],
    add,
  ),
  declare(
    "_-_",
    [
      ofNumbers("subtract_double", doubleType),
      overload("subtract_duration_duration", [durationType, durationType], durationType),
      ofNumbers("subtract_int64", intType),
      overload("subtract_timestamp_duration", [timestampType, durationType], timestampType),
      overload("subtract_timestamp_timestamp", [timestampType, timestampType], durationType),
      ofNumbers("subtract_uint64", uintType),
    ],
    arithmetic("_-_"),
  ),
  declare("_*_", numericOverloads("multiply"), arithmetic("_*_")),
  declare("_/_", numericOverloads("divide"), arithmetic("_/_")),
  declare(
    "_%_",
    [ofNumbers("modulo_int64", intType), ofNumbers("modulo_uint64", uintType)],
    arithmetic("_%_"),
  ),
  declare(
    "-_",
    [overload("negate_double", [doubleType], doubleType), overload("negate_int64", [intType], intType)],
    negate,
  ),
  declare(
    "_<_",
    comparisonOverloads("less"),
    comparison("_<_", (order) => order < 0),
  ),
  declare(
    "_<=_",
    comparisonOverloads("less_equals"),
    comparison("_<=_", (order) => order <= 0),
  ),
  declare(
    "_>_",
    comparisonOverloads("greater"),
    comparison("_>_", (order) => order > 0),
  ),
  declare(
    "_>=_",
    comparisonOverloads("greater_equals"),
    comparison("_>=_", (order) => order >= 0),
  ),
  declare(
    "@in",
    [priced(inListCost, overload("in_list", [T, list], boolType)), overload("in_map", [K, map], boolType)],
    contains,
  ),
  declare("_[_]", [overload("index_list", [list, intType], T), overload("index_map", [map, K], V)]),
  declare(
    "size",
    [
      overload("size_bytes", [bytesType], intType),
      method("bytes_size", [bytesType], intType),
      overload("size_list", [list], intType),
      method("list_size", [list], intType),
      overload("size_map", [map], intType),
      method("map_size", [map], intType),
      overload("size_string", [stringType], intType),
      method("string_size", [stringType], intType),
    ],
    size,
  ),
  declare("type", [overload("type", [T], typeOf(T))], (a) => new TypeValue(typeName(a))),
  declare("dyn", [overload("to_dyn", [T], dynType)], (a) => a),
  priced(
    containsCost,
    strings("contains", "contains_string", (a, b) => a.includes(b)),
  ),
  priced(
    affix,
    strings("startsWith", "starts_with_string", (a, b) => a.startsWith(b)),
  ),
  priced(
    affix,
    strings("endsWith", "ends_with_string", (a, b) => a.endsWith(b)),
  ),
  ...conversions,
];
