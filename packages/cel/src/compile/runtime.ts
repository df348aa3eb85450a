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

/** What nodes do to values: the one description that the closures and the generated source share. */

/** A key within the text of an error, as Go's `%v` writes it. */
function keyText(key: Value): string {
  if (typeof key === "number") return floatText(key);
  if (key === null) return "0";
  if (key instanceof Uint) return String(key.value);
  if (key instanceof TypeValue) return key.name;
  if (key instanceof Duration) return durationText(key);
  return String(key instanceof LibraryValue ? key.identity : key);
}

/** Why a value cannot be an index or a field; undefined if it can. */
export function badKey(key: Value): CelError | undefined {
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

/** The member of that key, or an error. */
export function take(value: Value, key: Value): Value {
  const found = lookup(value, key);
  return found === undefined ? missing(value, key) : found;
}

function missing(value: Value, key: Value): Value {
  const field = value instanceof MessageValue ? value.select(String(key), false) : undefined;
  if (field !== undefined) return field;
  return new CelError(`${Array.isArray(value) ? "index out of bounds" : "no such key"}: ${keyText(key)}`);
}

/** A field of a message whose type the checker knows; null if unset. */
export function takeField(message: Value, field: Value): Value {
  const found = message instanceof MessageValue ? message.select(String(field), true) : undefined;
  return found === undefined ? take(message, field) : found;
}

/** The same; undefined if unset. */
export function lookupField(message: Value, field: Value): Value | undefined {
  return message instanceof MessageValue ? setField(message, field, true) : lookup(message, field);
}

function setField(message: MessageValue, field: Value, declared: boolean): Value | undefined {
  const name = String(field);
  const isSet = message.isSet(name, declared);
  if (typeof isSet !== "boolean") return isSet;
  return isSet ? message.select(name, declared) : undefined;
}

/** The member of that key, undefined where there is none, an error where a list has no such indexes. */
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

/** What `&&` and `||` give when neither side decides. */
export function neither(left: Value, right: Value, stop: boolean): Value {
  if (left instanceof CelError) return left;
  if (typeof left !== "boolean") return noSuchOverload;
  if (right instanceof CelError) return right;
  return typeof right === "boolean" ? !stop : noSuchOverload;
}

/** What a conditional gives whose condition is no bool. */
export function undecided(condition: Value): Value {
  return condition instanceof CelError ? condition : noSuchOverload;
}

/** What `or` and `orValue` give where they need not look further; undefined where the other side is asked. */
export function fallback(target: Value, name: "or" | "orValue"): Value | undefined {
  if (target instanceof CelError) return target;
  if (!(target instanceof Optional)) return noSuchOverload;
  return name === "or" && target.value !== undefined ? target : target.value;
}

/** What a loop runs over: elements, or keys; undefined where it cannot. With two variables lists give indexes first. */
export function iterated(value: Value): readonly Value[] | undefined {
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

/** The second variable of a loop over a map or a list, by the first. */
export function memberAt(range: Value, items: readonly Value[], i: number): Value {
  return range instanceof MapValue ? range.find(items[i]!)! : items[i]!;
}

/**
 * What `cel.bind` keeps of its value: cel-go takes an empty map or list for the start of a loop and puts one of its own
 * in its place, which finds no domains that are not there.
 */
export function bound(value: Value): Value {
  return value instanceof DomainMap && value.size === 0 ? emptyDomain : value;
}

/** `list + [element]` where the list belongs to the loop that builds it. */
export function append(list: Value, element: Value): Value {
  if (list instanceof CelError) return list;
  if (element instanceof CelError) return element;
  const grown = list as Value[];
  // The empty list is the constant that every run starts from.
  if (grown.length === 0) return [element];
  grown.push(element);
  return grown;
}

/** The map with one entry, or the entries of another map, more; it belongs to the loop that builds it. */
export function insert(map: Value, key: Value, value: Value | undefined): Value {
  if (map instanceof CelError) return map;
  if (key instanceof CelError) return key;
  if (value instanceof CelError) return value;
  const grown = (map as LiteralMap).size === 0 ? new LiteralMap() : (map as LiteralMap);
  if (value !== undefined) return insertOne(grown, key, value);
  if (!(key instanceof MapValue)) {
    return new CelError(`no such overload: cel.@mapInsert(map, ${typeName(key)})`);
  }
  for (const name of key.keys()) {
    const result = insertOne(grown, name, key.find(name)!);
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

/** Puts an optional entry into a map under construction; an error where the value is no optional. */
export function setOptional(map: LiteralMap, key: Value, value: Value): CelError | undefined {
  if (!(value instanceof Optional)) return notOptional(keyText(key), value);
  if (value.value === undefined) map.delete(key);
  else map.set(key, value.value);
  return undefined;
}

/** The same for a field of a message. */
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

/** Adds an optional element to a list under construction; an error where the value is no optional. */
export function pushOptional(list: Value[], value: Value): CelError | undefined {
  if (!(value instanceof Optional)) {
    return new CelError(`cannot initialize optional list element from non-optional value ${shown(value)}`);
  }
  if (value.value !== undefined) list.push(value.value);
  return undefined;
}

/** A value as Go prints it. */
function shown(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  if (value instanceof LiteralMap) {
    return `{${[...value.keys()].map((key) => `${shown(key)}: ${shown(value.find(key)!)}`).join(", ")}}`;
  }
  if (value instanceof Uint) return String(value.value);
  return typeof value === "object" ? typeName(value) : String(value);
}

/** What comparing a text with one of that size costs. */
export function textCost(text: string, size: number): number {
  if (text.length <= 10) return text.length === 0 || size === 0 ? 0 : 1;
  return Math.ceil(Math.min(textLength(text), size) * 0.1);
}
