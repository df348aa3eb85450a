import type { CallContext } from "../library/call-context.ts";
import type { Value } from "../values/value.ts";

/** The cost of one call, without that of its arguments. */
export type CallCost = (
  a: Value,
  b: Value,
  c: Value,
  d: Value,
  result: Value,
  context: CallContext,
) => number;

/**
 * The cost of one call by the sizes of its arguments (a receiver comes first) and of its result: code points,
 * bytes, elements. A call without a rule costs 1. The rules of estimates are in `estimator-rules.ts`.
 */
export type CostRule = (sizes: readonly number[], result: number) => number;

/** The cost of traversing a string. */
export const stringCost = (length: number): number => Math.ceil(length * 0.1);
/** The factor for a regular expression. */
export const patternCost = (length: number): number => Math.ceil(length * 0.25);
const size = (sizes: readonly number[], i: number): number => sizes[i] ?? 1;

const first: CostRule = (sizes) => stringCost(size(sizes, 0));
const firstTwice: CostRule = (sizes) => Math.ceil(size(sizes, 0) * 0.2);
const shorter: CostRule = (sizes) => stringCost(Math.min(size(sizes, 0), size(sizes, 1)));
const both: CostRule = (sizes) => stringCost(size(sizes, 0) + size(sizes, 1));
const search: CostRule = (sizes) => stringCost(1 + size(sizes, 0)) * patternCost(size(sizes, 1));
const pairs: CostRule = (sizes) => size(sizes, 0) * size(sizes, 1);
/** A field or label selector is parsed; any two characters of it can become a requirement. */
const requirements = (length: number): number =>
  10 + stringCost(length) + Math.ceil(Math.ceil(length * 0.5) * 50);
/** The result is a list, which costs 10 plus its length. */
const makesList: CostRule = (_, result) => 11 + result;

const table = (rules: readonly (readonly [names: string, rule: CostRule])[]): ReadonlyMap<string, CostRule> =>
  new Map(rules.flatMap(([names, rule]) => names.split(" ").map((name) => [name, rule] as const)));

/** Rules of Kubernetes, by function name. */
const byName = table([
  ["url lowerAscii upperAscii substring trim isIP cidr isCIDR quantity isQuantity semver isSemver", first],
  ["jsonpatch.escapeKey", first],
  ["replace split ip.isCanonical", firstTwice],
  ["find findAll", search],
  ["containsIP", (sizes) => stringCost(2 * size(sizes, 0))],
  ["containsCIDR", (sizes) => stringCost(2 * size(sizes, 0)) + stringCost(size(sizes, 0)) + 1],
  ["check", () => 350_000],
  ["fieldSelector labelSelector", (sizes) => requirements(size(sizes, 1))],
]);

/** Rules of extensions, by overload ID. They have precedence over all others. */
const byExtension = table([
  ["list_sets_contains_list list_sets_intersects_list", (sizes) => 1 + pairs(sizes, 0)],
  ["list_sets_equivalent_list", (sizes) => 1 + 2 * pairs(sizes, 0)],
  ["lists_range list_slice list_reverse", makesList],
  ["list_flatten", (sizes) => 11 + size(sizes, 0)],
  ["string_to_ip", first],
  ["cidr_ip", () => 1],
  ["cidr_contains_ip_string", (sizes) => stringCost(2 * size(sizes, 0)) + stringCost(size(sizes, 1))],
  [
    "cidr_contains_cidr_string",
    (sizes) => stringCost(2 * size(sizes, 0)) + stringCost(size(sizes, 0)) + 1 + stringCost(size(sizes, 1)),
  ],
]);

/** Rules of the language, by overload ID. They come last. */
const byOverload = table([
  ["string_to_bytes bytes_to_string strings_quote string_format", first],
  ["starts_with_string ends_with_string", (sizes) => stringCost(size(sizes, 1))],
  ["equals not_equals", shorter],
  ["less_string greater_string less_equals_string greater_equals_string", shorter],
  ["less_bytes greater_bytes less_equals_bytes greater_equals_bytes", shorter],
  ["add_string add_bytes", both],
  ["matches matches_string", search],
  ["contains_string", (sizes) => stringCost(size(sizes, 0)) * stringCost(size(sizes, 1))],
  ["in_list", (sizes) => size(sizes, 1)],
]);

/** The rule of an overload ("" if it is known only at run time); undefined for a call that costs 1. */
export function costRule(name: string, overloadId: string): CostRule | undefined {
  return byExtension.get(overloadId) ?? byName.get(name) ?? byOverload.get(overloadId);
}

/** Functions that traverse every element of a list. */
export const elementwise: ReadonlySet<string> = new Set(
  "isSorted sum max min indexOf lastIndexOf includes".split(" "),
);

/** Functions whose cost, and work, is the product of two sizes. */
export const quadratic: ReadonlySet<string> = new Set(
  "sort distinct @sortByAssociatedKeys sets.contains sets.intersects sets.equivalent".split(" "),
);

/** Types whose values are compared in constant time. */
export const constantTime: ReadonlySet<string> = new Set([
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "net.IP",
  "net.CIDR",
  "kubernetes.URL",
  "kubernetes.NamedFormat",
]);
