import { FormatValue } from "../library/named-formats.ts";
import { goValueType } from "../values/go-types.ts";
import { CelError, costSize, Panic, typeName, type Value } from "../values/value.ts";
import { type CallCost, patternCost, stringCost } from "./tracker-rules.ts";

/** A list function costs as much as its result, and 1. */
const makesList = (elements: number): number => 11 + Math.trunc(elements);

/** Each element is compared with each other one; strings and bytes are traversed. */
function comparesEach(list: Value): number {
  const [first] = asList(list);
  const isText = typeof first === "string" || first instanceof Uint8Array;
  return makesList(costSize(list) ** 2 * (isText ? 2.1 : 2));
}

/** Upstream asserts that the argument is a list, and panics for other values. */
function asList(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value as readonly Value[];
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
  if (typeof depth === "bigint") return makesList(costSize(list) * (depth < 0n ? 1 : Number(depth)));
  throw new Panic(
    new CelError(`internal error: interface conversion: ref.Val is ${goValueType(depth)}, not types.Int`),
  );
}

function validated(format: Value, text: Value): number {
  if (!(format instanceof FormatValue)) return 1;
  return stringCost(1 + costSize(text)) * patternCost(format.patternSize);
}

const rules: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ["list_distinct", comparesEach],
  ["list_flatten_int", flattened],
  ["format-validate", validated],
]);

/** The cost of calls of an overload if it depends on more than the sizes of the arguments. */
export function valueCost(overloadId: string): CallCost | undefined {
  if (/^list_.*_sort$/.test(overloadId)) return comparesEach;
  if (/^list_.*_sortByAssociatedKeys$/.test(overloadId)) return (_list, keys) => comparesEach(keys);
  return rules.get(overloadId);
}
