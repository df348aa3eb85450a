import type { Value } from "../values/value.ts";

/** What a call spends by its arguments and its result; the arguments are paid for already. */
export type CallCost = (a: Value, b: Value, c: Value, d: Value, result: Value) => number;

/**
 * What calls that were made cost, by the sizes of their arguments (a receiver comes first) and of the result: characters,
 * bytes, elements. A call without a rule costs 1. The estimates are in `call-estimates.ts`.
 */
export type CostRule = (sizes: readonly number[], result: number) => number;

/** What passing over so many characters costs. */
export const characters = (count: number): number => Math.ceil(count * 0.1);
const pattern = (count: number): number => Math.ceil(count * 0.25);
const size = (sizes: readonly number[], i: number): number => sizes[i] ?? 1;

const first: CostRule = (sizes) => characters(size(sizes, 0));
const firstTwice: CostRule = (sizes) => Math.ceil(size(sizes, 0) * 0.2);
const shorter: CostRule = (sizes) => characters(Math.min(size(sizes, 0), size(sizes, 1)));
const both: CostRule = (sizes) => characters(size(sizes, 0) + size(sizes, 1));
const search: CostRule = (sizes) => characters(1 + size(sizes, 0)) * pattern(size(sizes, 1));
const pairs: CostRule = (sizes) => size(sizes, 0) * size(sizes, 1);
/** A selector is parsed, and each two characters of it may become a requirement. */
const requirements = (count: number): number =>
  10 + characters(count) + Math.ceil(Math.ceil(count * 0.5) * 50);
/** A list of as many elements is made, which costs 10 by itself. */
const makesList: CostRule = (_, result) => 11 + result;

const table = (rules: readonly (readonly [names: string, rule: CostRule])[]): ReadonlyMap<string, CostRule> =>
  new Map(rules.flatMap(([names, rule]) => names.split(" ").map((name) => [name, rule] as const)));

/** By the name of the function: the rules of Kubernetes, which come first. */
const byName = table([
  ["url lowerAscii upperAscii substring trim isIP cidr isCIDR quantity isQuantity semver isSemver", first],
  ["jsonpatch.escapeKey", first],
  ["replace split ip.isCanonical", firstTwice],
  ["find findAll", search],
  ["containsIP", (sizes) => characters(2 * size(sizes, 0))],
  ["containsCIDR", (sizes) => characters(2 * size(sizes, 0)) + characters(size(sizes, 0)) + 1],
  ["check", () => 350_000],
  ["fieldSelector labelSelector", (sizes) => requirements(size(sizes, 1))],
]);

/** Rules of extensions by the form of the function, which come before all others. */
const byExtension = table([
  ["list_sets_contains_list list_sets_intersects_list", (sizes) => 1 + pairs(sizes, 0)],
  ["list_sets_equivalent_list", (sizes) => 1 + 2 * pairs(sizes, 0)],
  ["lists_range list_slice list_reverse", makesList],
  ["list_flatten", (sizes) => 11 + size(sizes, 0)],
  ["string_to_ip", first],
  ["cidr_ip", () => 1],
  ["cidr_contains_ip_string", (sizes) => characters(2 * size(sizes, 0)) + characters(size(sizes, 1))],
  [
    "cidr_contains_cidr_string",
    (sizes) => characters(2 * size(sizes, 0)) + characters(size(sizes, 0)) + 1 + characters(size(sizes, 1)),
  ],
]);

/** By the form of the function: the rules of the language, which come last. */
const byForm = table([
  ["string_to_bytes bytes_to_string strings_quote string_format", first],
  ["starts_with_string ends_with_string", (sizes) => characters(size(sizes, 1))],
  ["equals not_equals", shorter],
  ["less_string greater_string less_equals_string greater_equals_string", shorter],
  ["less_bytes greater_bytes less_equals_bytes greater_equals_bytes", shorter],
  ["add_string add_bytes", both],
  ["matches matches_string", search],
  ["contains_string", (sizes) => characters(size(sizes, 0)) * characters(size(sizes, 1))],
  ["in_list", (sizes) => size(sizes, 1)],
]);

/** The rule for a function in one of its forms ("": the form is known only at run time); undefined: it costs 1. */
export function costRule(name: string, form: string): CostRule | undefined {
  return byExtension.get(form) ?? byName.get(name) ?? byForm.get(form);
}

/** Functions that look at every element of a list, and into it. */
export const elementwise: ReadonlySet<string> = new Set(
  "isSorted sum max min indexOf lastIndexOf includes".split(" "),
);

/** Functions whose cost, and work, is the product of two sizes. */
export const quadratic: ReadonlySet<string> = new Set(
  "sort distinct @sortByAssociatedKeys sets.contains sets.intersects sets.equivalent".split(" "),
);

/** Types that compare in constant time. */
export const constantTime: ReadonlySet<string> = new Set([
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "net.IP",
  "net.CIDR",
  "kubernetes.URL",
  "kubernetes.NamedFormat",
]);
