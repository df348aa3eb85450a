import { floatText } from "@dray/api";
import { DomainMap, emptyDomain } from "../values/domain-map.ts";
import { wholeNumber } from "../values/equality.ts";
import { goValueType } from "../values/go-types.ts";
import { inInt } from "../values/integers.ts";
import { LiteralMap } from "../values/maps.ts";
import { MessageValue } from "../values/message.ts";
import { textLength } from "../values/text.ts";
import { durationText } from "../values/time.ts";
import {
  CelError,
  Duration,
  LibraryValue,
  MapValue,
  noSuchOverload,
  Optional,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "../values/value.ts";

/** Operations of nodes on values. Closures and generated code share them. */

/** A key in the text of an error, as Go's `%v` formats it. */
function keyText(key: Value): string {
  if (typeof key === "number") return floatText(key);
  if (key === null) return "0";
  if (key instanceof Uint) return String(key.value);
  if (key instanceof TypeValue) return key.name;
  if (key instanceof Duration) return durationText(key);
  return String(key instanceof LibraryValue ? key.identity : key);
}

/** The error of a value that cannot be an index or a field; undefined for any other value. */
export function keyError(key: Value): CelError | undefined {
  switch (typeof key) {
    case "string":
    case "bigint":
    case "boolean":
    case "number":
      return undefined;
    default:
      if (key instanceof Uint) return undefined;
      return key instanceof CelError ? key : new CelError(`invalid qualifier type: ${goValueType(key)}`);
  }
}

/** Selects a member by its key. Returns an error if it is missing. */
export function qualify(value: Value, key: Value): Value {
  const found = lookup(value, key);
  return found === undefined ? missing(value, key) : found;
}

function missing(value: Value, key: Value): Value {
  const field = value instanceof MessageValue ? value.select(String(key), false) : undefined;
  if (field !== undefined) return field;
  return new CelError(`${Array.isArray(value) ? "index out of bounds" : "no such key"}: ${keyText(key)}`);
}

/** Selects a field of a message whose type the checker knows; null if unset. */
export function qualifyField(message: Value, field: Value): Value {
  const found = message instanceof MessageValue ? message.select(String(field), true) : undefined;
  return found === undefined ? qualify(message, field) : found;
}

/** Like `qualifyField`, but undefined if unset. */
export function lookupField(message: Value, field: Value): Value | undefined {
  return message instanceof MessageValue ? setField(message, field, true) : lookup(message, field);
}

function setField(message: MessageValue, field: Value, declared: boolean): Value | undefined {
  const name = String(field);
  const isSet = message.isSet(name, declared);
  if (typeof isSet !== "boolean") return isSet;
  return isSet ? message.select(name, declared) : undefined;
}

/**
 * Selects a member by its key. Returns undefined if it is missing, an error if the key cannot be an index of
 * a list.
 */
export function lookup(value: Value, key: Value): Value | undefined {
  if (value instanceof MapValue) return value.find(key);
  if (value instanceof MessageValue) return setField(value, key, false);
  if (!Array.isArray(value)) return undefined;
  const index = listIndex(key);
  return typeof index === "number" ? value[index] : index;
}

function listIndex(key: Value): number | CelError {
  if (typeof key === "bigint") return Number(key);
  const whole = wholeNumber(key);
  if (whole !== undefined && inInt(whole)) return Number(whole);
  if (key instanceof Uint || typeof key === "number") {
    return new CelError(`unsupported index value ${keyText(key)} in list`);
  }
  return new CelError(`unsupported index type '${typeName(key)}' in list`);
}

/** The result of `&&` or `||` if no operand decides it. `stop` is the deciding value. */
export function logicalResult(left: Value, right: Value, stop: boolean): Value {
  if (left instanceof CelError) return left;
  if (typeof left !== "boolean") return noSuchOverload;
  if (right instanceof CelError) return right;
  return typeof right === "boolean" ? !stop : noSuchOverload;
}

/** The result of a conditional whose condition is not a bool. */
export function conditionError(condition: Value): Value {
  return condition instanceof CelError ? condition : noSuchOverload;
}

/** The result of `or` or `orValue` without their argument; undefined if the argument decides. */
export function fallback(target: Value, name: "or" | "orValue"): Value | undefined {
  if (target instanceof CelError) return target;
  if (!(target instanceof Optional)) return noSuchOverload;
  return name === "or" && target.value !== undefined ? target : target.value;
}

/** The elements of a list or the keys of a map; undefined for any other value. */
export function iterationItems(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value;
  return value instanceof MapValue ? [...value.keys()] : undefined;
}

export function notIterable(value: Value, two: boolean): CelError {
  if (value instanceof CelError) return value;
  return new CelError(
    two
      ? `unsupported comprehension range type: ${goValueType(value)}`
      : `got '${goValueType(value)}', expected iterable type`,
  );
}

/** The second variable of a loop with two variables. */
export function elementAt(range: Value, items: readonly Value[], i: number): Value {
  // The items of a map are its keys.
  return range instanceof MapValue ? range.find(items[i]!)! : items[i]!;
}

/**
 * The value of a variable of `cel.bind`. cel-go takes an empty map or list for the accumulator of a loop, and
 * replaces it by a mutable one, in which missing domains are not found.
 */
export function bindingValue(value: Value): Value {
  return value instanceof DomainMap && value.size === 0 ? emptyDomain : value;
}

/** `list + [element]`, in place: the list belongs to the loop that builds it. */
export function append(list: Value, element: Value): Value {
  if (list instanceof CelError) return list;
  if (element instanceof CelError) return element;
  const target = list as Value[];
  // The empty list is a constant of the program.
  if (target.length === 0) return [element];
  target.push(element);
  return target;
}

/**
 * Adds an entry, or the entries of a map if `value` is undefined, in place: the map belongs to the loop that
 * builds it.
 */
export function insert(map: Value, key: Value, value: Value | undefined): Value {
  if (map instanceof CelError) return map;
  if (key instanceof CelError) return key;
  if (value instanceof CelError) return value;
  const grown = (map as LiteralMap).size === 0 ? new LiteralMap() : (map as LiteralMap);
  if (value !== undefined) return insertOne(grown, key, value);
  if (!(key instanceof MapValue)) {
    return new CelError(`no such overload: cel.@mapInsert(map, ${typeName(key)})`);
  }
  for (const [name, inner] of key.entries()) {
    const result = insertOne(grown, name, inner);
    if (result instanceof CelError) return result;
  }
  return grown;
}

function insertOne(map: LiteralMap, key: Value, value: Value): Value {
  if (map.has(key)) {
    const text = Array.isArray(key) || key instanceof LiteralMap ? shown(key) : keyText(key);
    return new CelError(`insert failed: key ${text} already exists`);
  }
  map.set(key, value);
  return map;
}

function notOptional(entry: string, value: Value): CelError {
  return new CelError(`cannot initialize optional entry '${entry}' from non-optional value ${shown(value)}`);
}

/** Adds an optional entry to a map. Returns an error if the value is not an optional value. */
export function setOptional(map: LiteralMap, key: Value, value: Value): CelError | undefined {
  if (!(value instanceof Optional)) return notOptional(keyText(key), value);
  if (value.value === undefined) map.delete(key);
  else map.set(key, value.value);
  return undefined;
}

/** Adds an optional field to a message. Returns an error if the value is not an optional value. */
export function setOptionalField(
  fields: Map<string, Value>,
  name: string,
  value: Value,
): CelError | undefined {
  if (!(value instanceof Optional)) return notOptional(name, value);
  if (value.value === undefined) fields.delete(name);
  else fields.set(name, value.value);
  return undefined;
}

/** Adds an optional element to a list. Returns an error if the value is not an optional value. */
export function pushOptional(list: Value[], value: Value): CelError | undefined {
  if (!(value instanceof Optional)) {
    return new CelError(`cannot initialize optional list element from non-optional value ${shown(value)}`);
  }
  if (value.value !== undefined) list.push(value.value);
  return undefined;
}

/** Formats a value as Go does. */
function shown(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  if (value instanceof LiteralMap) {
    return `{${[...value.entries()].map(([key, inner]) => `${shown(key)}: ${shown(inner)}`).join(", ")}}`;
  }
  if (value instanceof Uint) return String(value.value);
  return typeof value === "object" ? typeName(value) : String(value);
}

/** The cost of comparing a string with one of a known size. */
export function textCost(text: string, size: number): number {
  if (text.length <= 10) return text.length === 0 || size === 0 ? 0 : 1;
  return Math.ceil(Math.min(textLength(text), size) * 0.1);
}
