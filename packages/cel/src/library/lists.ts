import { touchElements } from "../values/budget.ts";
import { equal } from "../values/equality.ts";
import { compare, missing } from "../values/ordering.ts";
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
  Duration,
  MapValue,
  noSuchOverload,
  Optional,
  typeName,
  Uint,
  type Value,
} from "../values/value.ts";
import {
  declare,
  type FunctionDeclaration,
  form,
  type Implementation,
  K,
  method,
  T,
  V,
} from "./declarations.ts";
import { sortIndexes } from "./sort.ts";
import { add } from "./standard.ts";

type List = readonly Value[];
const list = listType(T);
const of = (value: Value): List => value as List;

/** Longest list that a function makes. */
const longest = 1_000_000n;

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
  if (size > longest) return new CelError(`lists.range: size ${size} exceeds maximum allowed (${longest})`);
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

/** Nothing looks at the types of the arguments before this does (observed). */
function flatten(value: Value, depth: Value): Value {
  if (!Array.isArray(value) || typeof depth !== "bigint") {
    const params = (arg: Value): string =>
      arg instanceof MapValue ? "(dyn, dyn)" : arg instanceof Optional || Array.isArray(arg) ? "(dyn)" : "";
    const name = (arg: Value): string => typeName(arg) + params(arg);
    return new CelError(`no such overload: ${name(value)}.flatten(${depth === null ? "" : name(depth)})`);
  }
  if (depth < 0n) return new CelError("level must be non-negative");
  const flat: Value[] = [];
  const add = (items: List, left: bigint): void => {
    touchElements(items.length);
    for (const item of items) {
      if (Array.isArray(item) && left > 0n) add(item, left - 1n);
      else flat.push(item);
    }
  };
  add(of(value), depth);
  return flat;
}

function distinct(value: Value): Value {
  const kept: Value[] = [];
  for (const item of of(value)) if (!kept.some((known) => equal(item, known) === true)) kept.push(item);
  return kept;
}

/** The list in the order of its keys. What has no order is left where it is met. */
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

/** -1, 0 or 1; undefined where two values have no order, which upstream takes for "neither way". */
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

const sum =
  (zero: bigint | number | Uint | Duration): Implementation =>
  (value) => {
    let total: Value = zero;
    for (const item of of(value)) {
      total = add(total, item);
      if (total instanceof CelError) return total;
    }
    return total;
  };

const find =
  (last: boolean): Implementation =>
  (value, wanted) => {
    const same = (item: Value): boolean => equal(item, wanted) === true;
    return BigInt(last ? of(value).findLastIndex(same) : of(value).findIndex(same));
  };

const each = (
  name: string,
  id: (type: string) => string,
  result: (type: CelType) => CelType,
  invoke: Implementation,
): FunctionDeclaration =>
  declare(
    name,
    ordered.map(([type, element]) => method(id(type), [listType(element)], result(element), invoke)),
  );

/** Lists (the lists library of Kubernetes of 1.0, and cel-go ext.Lists, version 3). */
export const listsLibrary: readonly FunctionDeclaration[] = [
  declare("lists.range", [form("lists_range", [intType], listType(intType), range)]),
  declare("slice", [method("list_slice", [list, intType, intType], list, slice)]),
  declare("flatten", [
    {
      ...method("list_flatten", [listType(list)], list, (a) => flatten(a, Array.isArray(a) ? 1n : null)),
      unguarded: true,
    },
    {
      ...method("list_flatten_int", [listType(dynType), intType], listType(dynType), flatten),
      unguarded: true,
    },
  ]),
  declare("distinct", [method("list_distinct", [list], list, distinct)]),
  declare("reverse", [method("list_reverse", [list], list, (a) => of(a).toReversed())]),
  declare("first", [method("list_first", [list], optionalType(T), (a) => new Optional(of(a)[0]))]),
  declare("last", [method("list_last", [list], optionalType(T), (a) => new Optional(of(a).at(-1)))]),
  declare(
    "sort",
    ordered.map(([, type]) => method(`list_${type.name}_sort`, [listType(type)], listType(type))),
    (a) => (Array.isArray(a) ? sorted(of(a), of(a)) : missing("sort", a)),
  ),
  declare(
    "@sortByAssociatedKeys",
    ordered.map(([, type]) => method(`list_${type.name}_sortByAssociatedKeys`, [list, listType(type)], list)),
    (a, b) => (Array.isArray(a) ? sorted(of(a), of(b)) : missing("@sortByAssociatedKeys", a)),
  ),
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
  declare("sum", [
    method("list_int_sum_int", [listType(intType)], intType, sum(0n)),
    method("list_uint_sum_uint", [listType(uintType)], uintType, sum(new Uint(0n))),
    method("list_double_sum_double", [listType(doubleType)], doubleType, sum(0)),
    method("list_duration_sum_duration", [listType(durationType)], durationType, sum(new Duration(0n))),
  ]),
  declare("indexOf", [method("list_a_index_of_int", [list, T], intType, find(false))]),
  declare("lastIndexOf", [method("list_a_last_index_of_int", [list, T], intType, find(true))]),
];

/**
 * What the macros transformMap() and transformMapEntry() stand on (cel-go ext.TwoVarComprehensions). Only they can write
 * it, and their loops insert in place.
 */
export const mapInsertLibrary: readonly FunctionDeclaration[] = [
  declare("cel.@mapInsert", [
    form("@mapInsert_map_key_value", [mapType(K, V), K, V], mapType(K, V)),
    form("@mapInsert_map_map", [mapType(K, V), mapType(K, V)], mapType(K, V)),
  ]),
];
