import {
  declare,
  type FunctionDeclaration,
  form,
  type Implementation,
  K,
  method,
  T,
  V,
} from "../declarations.ts";
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
} from "../types.ts";
import {
  CelError,
  Duration,
  equal,
  LiteralMap,
  MapValue,
  Optional,
  typeName,
  Uint,
  type Value,
} from "../values.ts";
import { add, compare } from "./standard.ts";

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
  if (size > longest) return new CelError(`lists.range: size must be at most ${longest}, got ${size}`);
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

function flatten(value: Value, depth: Value): Value {
  if ((depth as bigint) < 0n) return new CelError("level must be non-negative");
  const flat = (items: List, left: bigint): Value[] =>
    items.flatMap((item) => (Array.isArray(item) && left > 0n ? flat(item, left - 1n) : [item]));
  return flat(of(value), depth as bigint);
}

function distinct(value: Value): Value {
  const kept: Value[] = [];
  for (const item of of(value)) if (!kept.some((known) => equal(known, item) === true)) kept.push(item);
  return kept;
}

/** The list in the order of its keys; an error where two keys have no order. */
function sorted(items: List, keys: List): Value {
  const first = keys[0];
  if (first !== undefined && keys.some((key) => typeName(key) !== typeName(first))) {
    return new CelError("list elements must have the same type");
  }
  let wrong: CelError | undefined;
  const order = items.map((_, i) => i);
  order.sort((a, b) => {
    const result = compare(keys[a]!, keys[b]!, "sort");
    if (typeof result === "number") return result;
    wrong ??= result;
    return 0;
  });
  return wrong ?? order.map((i) => items[i]!);
}

function isSorted(value: Value): Value {
  const items = of(value);
  for (let i = 1; i < items.length; i++) {
    const order = compare(items[i - 1]!, items[i]!, "isSorted");
    if (typeof order !== "number") return order;
    if (order > 0) return false;
  }
  return true;
}

const extreme =
  (name: string, sign: 1 | -1): Implementation =>
  (value) => {
    const items = of(value);
    if (items.length === 0) return new CelError(`${name} called on empty list`);
    let best: Value = items[0]!;
    for (const item of items) {
      const order = compare(item, best, name);
      if (typeof order !== "number") return order;
      if (order * sign > 0) best = item;
    }
    return best;
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

const each = (name: string, result: (type: CelType) => CelType, invoke: Implementation, types = ordered) =>
  declare(
    name,
    types.map(([id, type]) => method(`list_${id}_${name}`, [listType(type)], result(type), invoke)),
  );

/** Lists (the lists library of Kubernetes of 1.0, and cel-go ext.Lists, version 3). */
export const listsLibrary: readonly FunctionDeclaration[] = [
  declare("lists.range", [form("lists_range", [intType], listType(intType), range)]),
  declare("slice", [method("list_slice", [list, intType, intType], list, slice)]),
  declare("flatten", [
    method("list_flatten", [listType(list)], list, (a) => flatten(a, 1n)),
    method("list_flatten_int", [listType(dynType), intType], listType(dynType), flatten),
  ]),
  declare("distinct", [method("list_distinct", [list], list, distinct)]),
  declare("reverse", [method("list_reverse", [list], list, (a) => of(a).toReversed())]),
  declare("first", [method("list_first", [list], optionalType(T), (a) => new Optional(of(a)[0]))]),
  declare("last", [method("list_last", [list], optionalType(T), (a) => new Optional(of(a).at(-1)))]),
  each("sort", listType, (a) => sorted(of(a), of(a))),
  declare(
    "@sortByAssociatedKeys",
    ordered.map(([id, type]) =>
      method(`list_${id}_sortByAssociatedKeys`, [list, listType(type)], list, (a, b) => sorted(of(a), of(b))),
    ),
  ),
  each("isSorted", () => boolType, isSorted),
  each("min", (type) => type, extreme("min", -1)),
  each("max", (type) => type, extreme("max", 1)),
  declare("sum", [
    method("list_int_sum", [listType(intType)], intType, sum(0n)),
    method("list_uint_sum", [listType(uintType)], uintType, sum(new Uint(0n))),
    method("list_double_sum", [listType(doubleType)], doubleType, sum(0)),
    method("list_duration_sum", [listType(durationType)], durationType, sum(new Duration(0n))),
  ]),
  declare("indexOf", [method("list_a_index_of_int", [list, T], intType, find(false))]),
  declare("lastIndexOf", [method("list_a_last_index_of_int", [list, T], intType, find(true))]),
];

/** A copy with one entry, or the entries of a map, more. */
function insert(map: Value, key: Value, value: Value): Value {
  const result = new LiteralMap();
  for (const known of (map as MapValue).keys()) result.set(known, (map as MapValue).find(known)!);
  const entries: (readonly [Value, Value])[] = [];
  if (key instanceof MapValue) for (const name of key.keys()) entries.push([name, key.find(name)!]);
  else entries.push([key, value]);
  for (const [name, entry] of entries) {
    if (result.has(name)) return new CelError(`insert failed: key ${String(name)} already exists`);
    result.set(name, entry);
  }
  return result;
}

/** What the macros transformMap() and transformMapEntry() stand on (cel-go ext.TwoVarComprehensions). */
export const mapInsertLibrary: readonly FunctionDeclaration[] = [
  declare("cel.@mapInsert", [
    form("@mapInsert_map_key_value", [mapType(K, V), K, V], mapType(K, V), insert),
    form("@mapInsert_map_map", [mapType(K, V), mapType(K, V)], mapType(K, V), (a, b) => insert(a, b, null)),
  ]),
];
