import { FormatValue } from "../library/named-formats.ts";
import { goValueType } from "../values/go-types.ts";
import { CelError, costSize, Panic, typeName, type Value } from "../values/value.ts";
import { type CallCost, characters } from "./tracker-rules.ts";

/** What a list function spends by the list it makes, and once more for itself. */
const makesList = (elements: number): number => 11 + Math.trunc(elements);

/** Every element is compared with every other; texts are looked into. */
function comparesEach(list: Value): number {
  const [first] = asList(list);
  const text = typeof first === "string" || first instanceof Uint8Array;
  return makesList(costSize(list) ** 2 * (text ? 2.1 : 2));
}

/** Upstream takes the argument for a list before it knows, and Go panics where it is none. */
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

/** Types of which values can be added, in Go's sense: of a list's methods they lack another one first. */
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

const pattern = (count: number): number => Math.ceil(count * 0.25);

function validated(format: Value, text: Value): number {
  if (!(format instanceof FormatValue)) return 1;
  return characters(1 + costSize(text)) * pattern(format.patternSize);
}

const rules: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ["list_distinct", comparesEach],
  ["list_flatten_int", flattened],
  ["format-validate", validated],
]);

/** The cost of calls in a form, where it hangs on more than the sizes of the arguments. */
export function valueCost(form: string): CallCost | undefined {
  if (/^list_.*_sort$/.test(form)) return comparesEach;
  if (/^list_.*_sortByAssociatedKeys$/.test(form)) return (_list, keys) => comparesEach(keys);
  return rules.get(form);
}
