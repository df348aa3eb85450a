import type { ElementBudget } from "../values/element-budget.ts";
import { equalWithin } from "../values/equality.ts";
import { goValueType } from "../values/go-types.ts";
import { compare, missingOperator } from "../values/ordering.ts";
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
  optionalType,
  stringType,
  timestampType,
  uintType,
} from "../values/types.ts";
import {
  CelError,
  costSize,
  Duration,
  MapValue,
  noSuchOverload,
  Optional,
  Panic,
  typeName,
  Uint,
  type Value,
} from "../values/value.ts";
import * as charges from "./costs/charges.ts";
import { type Cost, elementwise } from "./costs/cost.ts";
import * as estimates from "./costs/estimates.ts";
import { maxAt, sizeAt } from "./costs/estimates.ts";
import { exactly, unlimited, wrapped } from "./costs/size-estimate.ts";
import {
  bound,
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
import { sortIndexes } from "./sort.ts";
import { add } from "./standard.ts";

type List = readonly Value[];
const list = listType(T);
const of = (value: Value): List => value as List;

/** Maximum length of `lists.range`. */
const maxRange = 1_000_000n;

const ordered: readonly (readonly [string, CelType])[] = [
  ["int", intType],
  ["uint", uintType],
  ["double", doubleType],
  ["bool", boolType],
  ["duration", durationType],
  ["timestamp", timestampType],
  ["string", stringType],
  ["bytes", bytesType],
];

function range(count: Value): Value {
  const size = count as bigint;
  if (size < 0n) return new CelError(`lists.range: size must be non-negative, got ${size}`);
  if (size > maxRange) return new CelError(`lists.range: size ${size} exceeds maximum allowed (${maxRange})`);
  return Array.from({ length: Number(size) }, (_, i) => BigInt(i));
}

function slice(value: Value, start: Value, end: Value): Value {
  const [from, to, size] = [start as bigint, end as bigint, of(value).length];
  if (from < 0n || to < 0n)
    return new CelError(`cannot slice(${from}, ${to}), negative indexes not supported`);
  if (from > to) {
    return new CelError(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`);
  }
  if (to > BigInt(size)) return new CelError(`cannot slice(${from}, ${to}), list is length ${size}`);
  return of(value).slice(Number(from), Number(to));
}

/** Upstream does not check the types of the arguments first (observed). */
function flatten(value: Value, depth: Value, budget: ElementBudget): Value {
  if (!Array.isArray(value) || typeof depth !== "bigint") {
    const params = (arg: Value): string =>
      arg instanceof MapValue ? "(dyn, dyn)" : arg instanceof Optional || Array.isArray(arg) ? "(dyn)" : "";
    const name = (arg: Value): string => typeName(arg) + params(arg);
    return new CelError(`no such overload: ${name(value)}.flatten(${depth === null ? "" : name(depth)})`);
  }
  if (depth < 0n) return new CelError("level must be non-negative");
  const flat: Value[] = [];
  const append = (items: List, levels: bigint): void => {
    budget.spend(items.length);
    for (const item of items) {
      if (Array.isArray(item) && levels > 0n) append(item, levels - 1n);
      else flat.push(item);
    }
  };
  append(of(value), depth);
  return flat;
}

const distinct = inContext(({ budget }) => (value) => {
  const kept: Value[] = [];
  for (const item of of(value))
    if (!kept.some((other) => equalWithin(item, other, budget) === true)) kept.push(item);
  return kept;
});

/** Sorts a list by its keys. Keys without an order, such as NaN, stay where the algorithm meets them. */
function sorted(items: List, keys: List): Value {
  const first = keys[0];
  if (first === undefined) return items;
  if (!isOrdered(first)) return new CelError("list elements must be comparable");
  if (keys.some((key) => typeName(key) !== typeName(first))) {
    return new CelError("list elements must have the same type");
  }
  const less = (a: number, b: number): boolean => order(keys[a]!, keys[b]!) === -1;
  return sortIndexes(items.length, less).map((i) => items[i]!);
}

const isOrdered = (value: Value): boolean => ordered.some(([, type]) => typeName(value) === type.name);

/**
 * Returns -1, 0 or 1; undefined for two values without an order, which upstream treats as neither less nor
 * greater.
 */
function order(a: Value, b: Value): number | undefined {
  const result = compare(a, b, "");
  return typeof result === "number" ? result : undefined;
}

function isSorted(value: Value): Value {
  const items = of(value);
  for (let i = 0; i < items.length; i++) {
    if (!isOrdered(items[i]!)) return noSuchOverload;
    if (i > 0 && order(items[i - 1]!, items[i]!) === 1) return false;
  }
  return true;
}

const extreme =
  (name: string, sign: 1 | -1): Implementation =>
  (value) => {
    const items = of(value);
    if (items.length === 0) return new CelError(`${name} called on empty list`);
    if (!items.every(isOrdered)) return noSuchOverload;
    return items.reduce((best, item) => (order(best, item) === -sign ? item : best));
  };

const sum = (zero: bigint | number | Uint | Duration): Contextual =>
  inContext((context) => {
    const plus = bound(add, context);
    return (value) => {
      let total: Value = zero;
      for (const item of of(value)) {
        total = plus(total, item, null, null);
        if (total instanceof CelError) return total;
      }
      return total;
    };
  });

const find = (last: boolean): Contextual =>
  inContext(({ budget }) => (value, wanted) => {
    const same = (item: Value): boolean => equalWithin(item, wanted, budget) === true;
    return BigInt(last ? of(value).findLastIndex(same) : of(value).findIndex(same));
  });

/** A list function costs as much as its result, and 1. */
const listCharge = (elements: number): number => 11 + Math.trunc(elements);

/** Each element is compared with each other one; strings and bytes are traversed. */
function comparisonsOf(list: Value): number {
  const [first] = asList(list);
  const isText = typeof first === "string" || first instanceof Uint8Array;
  return listCharge(costSize(list) ** 2 * (isText ? 2.1 : 2));
}

/** Upstream asserts that the argument is a list, and panics for other values. */
function asList(value: Value): List {
  if (Array.isArray(value)) return of(value);
  const missing = adders.has(typeName(value)) ? "Contains" : "Add";
  const type = value instanceof CelError ? "*types.Err" : goValueType(value);
  throw new Panic(
    new CelError(
      `internal error: interface conversion: ${type} is not traits.Lister: missing method ${missing}`,
    ),
  );
}

/**
 * Types that implement Go's traits.Adder, so that another method of traits.Lister is the first that they
 * lack.
 */
const adders: ReadonlySet<string> = new Set([
  "bytes",
  "double",
  "google.protobuf.Duration",
  "google.protobuf.Timestamp",
  "int",
  "string",
  "uint",
]);

function flattened(list: Value, depth: Value): number {
  if (typeof depth === "bigint") return listCharge(costSize(list) * (depth < 0n ? 1 : Number(depth)));
  throw new Panic(
    new CelError(`internal error: interface conversion: ref.Val is ${goValueType(depth)}, not types.Int`),
  );
}

const isText = (type: CelType): boolean => type === stringType || type === bytesType;
const sortCost = (type: CelType): Cost => ({
  estimate: estimates.comparesEach(0, isText(type)),
  charge: charges.byValues(comparisonsOf),
});
const sortByCost = (type: CelType): Cost => ({
  estimate: estimates.comparesEach(1, isText(type)),
  charge: charges.byValues((_list, keys) => comparisonsOf(keys)),
});
const distinctCost: Cost = { estimate: estimates.comparesEach(0), charge: charges.byValues(comparisonsOf) };
const reverseCost: Cost = {
  estimate: (operands) => estimates.makesList(sizeAt(operands, 0)),
  charge: charges.makesList,
};
const rangeCost: Cost = {
  estimate: (operands) => estimates.makesList(exactly(estimates.literalInt(operands[0], unlimited))),
  charge: charges.makesList,
};
const sliceCost: Cost = {
  estimate: (operands) => {
    const end = estimates.literalInt(operands[2], maxAt(operands, 0));
    return estimates.makesList(exactly(wrapped(end - estimates.literalInt(operands[1], 0n))));
  },
  charge: charges.makesList,
};
const flattenCost: Cost = {
  estimate: (operands) => estimates.makesList(sizeAt(operands, 0)),
  charge: charges.bySizes((sizes) => 11 + charges.sizeAt(sizes, 0)),
};
const flattenToDepthCost: Cost = {
  estimate: (operands) =>
    estimates.makesList(sizeAt(operands, 0), Number(estimates.literalInt(operands[1], unlimited))),
  charge: charges.byValues(flattened),
};

const each = (
  name: string,
  id: (type: string) => string,
  result: (type: CelType) => CelType,
  invoke: Implementation | Contextual,
): FunctionDeclaration =>
  priced(
    elementwise,
    declare(
      name,
      ordered.map(([type, element]) => method(id(type), [listType(element)], result(element), invoke)),
    ),
  );

/** Lists (the lists library of Kubernetes 1.0, and cel-go ext.Lists, version 3). */
export const listsLibrary: readonly FunctionDeclaration[] = [
  declare("lists.range", [priced(rangeCost, overload("lists_range", [intType], listType(intType), range))]),
  declare("slice", [priced(sliceCost, method("list_slice", [list, intType, intType], list, slice))]),
  declare("flatten", [
    {
      ...priced(
        flattenCost,
        method(
          "list_flatten",
          [listType(list)],
          list,
          inContext(
            ({ budget }) =>
              (a) =>
                flatten(a, Array.isArray(a) ? 1n : null, budget),
          ),
        ),
      ),
      unguarded: true,
    },
    {
      ...priced(
        flattenToDepthCost,
        method(
          "list_flatten_int",
          [listType(dynType), intType],
          listType(dynType),
          inContext(
            ({ budget }) =>
              (a, b) =>
                flatten(a, b, budget),
          ),
        ),
      ),
      unguarded: true,
    },
  ]),
  {
    ...declare("distinct", [priced(distinctCost, method("list_distinct", [list], list, distinct))]),
    prepaid: true,
  },
  declare("reverse", [
    priced(
      reverseCost,
      method("list_reverse", [list], list, (a) => of(a).toReversed()),
    ),
  ]),
  declare("first", [method("list_first", [list], optionalType(T), (a) => new Optional(of(a)[0]))]),
  declare("last", [method("list_last", [list], optionalType(T), (a) => new Optional(of(a).at(-1)))]),
  {
    ...declare(
      "sort",
      ordered.map(([, type]) =>
        priced(sortCost(type), method(`list_${type.name}_sort`, [listType(type)], listType(type))),
      ),
      (a) => (Array.isArray(a) ? sorted(of(a), of(a)) : missingOperator("sort", a)),
    ),
    prepaid: true,
  },
  {
    ...declare(
      "@sortByAssociatedKeys",
      ordered.map(([, type]) =>
        priced(
          sortByCost(type),
          method(`list_${type.name}_sortByAssociatedKeys`, [list, listType(type)], list),
        ),
      ),
      (a, b) => (Array.isArray(a) ? sorted(of(a), of(b)) : missingOperator("@sortByAssociatedKeys", a)),
    ),
    prepaid: true,
  },
  each(
    "isSorted",
    (type) => `list_${type}_is_sorted_bool`,
    () => boolType,
    isSorted,
  ),
  each(
    "min",
    (type) => `list_${type}_min_${type}`,
    (type) => type,
    extreme("min", -1),
  ),
  each(
    "max",
    (type) => `list_${type}_max_${type}`,
    (type) => type,
    extreme("max", 1),
  ),
  priced(
    elementwise,
    declare("sum", [
      method("list_int_sum_int", [listType(intType)], intType, sum(0n)),
      method("list_uint_sum_uint", [listType(uintType)], uintType, sum(new Uint(0n))),
      method("list_double_sum_double", [listType(doubleType)], doubleType, sum(0)),
      method("list_duration_sum_duration", [listType(durationType)], durationType, sum(new Duration(0n))),
    ]),
  ),
  priced(elementwise, declare("indexOf", [method("list_a_index_of_int", [list, T], intType, find(false))])),
  priced(
    elementwise,
    declare("lastIndexOf", [method("list_a_last_index_of_int", [list, T], intType, find(true))]),
  ),
];

/**
 * The function to which transformMap() and transformMapEntry() expand (cel-go ext.TwoVarComprehensions). No
 * expression can name it, and the loops of these macros insert in place.
 */
export const mapInsertLibrary: readonly FunctionDeclaration[] = [
  declare("cel.@mapInsert", [
    overload("@mapInsert_map_key_value", [mapType(K, V), K, V], mapType(K, V)),
    overload("@mapInsert_map_map", [mapType(K, V), mapType(K, V)], mapType(K, V)),
  ]),
];
