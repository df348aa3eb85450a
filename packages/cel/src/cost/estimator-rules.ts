import type { Expr } from "../syntax/ast.ts";
import { type CelType, sameType } from "../values/types.ts";
import * as sizes from "./size-estimate.ts";
import {
  anySize,
  plus,
  type SizeEstimate,
  scaled,
  times,
  unlimited,
  upTo,
  wrapped,
} from "./size-estimate.ts";

/** An argument or receiver of a call (cel-go's checker.AstNode). */
export interface Operand {
  readonly expr: Expr;
  readonly type: CelType;
  readonly size: SizeEstimate | undefined;
  /** The size of each element, if the environment bounds it. */
  readonly elementSize: SizeEstimate | undefined;
}

/**
 * The maximum cost of a call, without its operands, and the size of its result (cel-go's
 * checker.CallEstimate).
 */
export interface CallEstimate {
  readonly cost: bigint;
  /** Undefined: the size follows from the type. */
  readonly size?: SizeEstimate | undefined;
}

/** Returns undefined if the rule does not apply to the overload. A receiver is the first operand. */
type Rule = (operands: readonly Operand[], overloadId: string) => CallEstimate | undefined;

const sizeAt = (operands: readonly Operand[], i: number): SizeEstimate => operands[i]?.size ?? anySize;
const maxAt = (operands: readonly Operand[], i: number): bigint => sizeAt(operands, i).max;

/** The cost of traversing a string. */
const stringCost = (length: bigint): bigint => scaled(length, 0.1);
const one: Rule = () => ({ cost: 1n });

/** The value of an integer literal; 0 for a negative one. */
function literalInt(operand: Operand | undefined, otherwise: bigint): bigint {
  if (operand?.expr.kind !== "literal" || typeof operand.expr.value !== "bigint") return otherwise;
  return operand.expr.value < 0n ? 0n : operand.expr.value;
}

/** The result is a list, which costs 10 plus its length. */
const makesList = (size: SizeEstimate, factor = 1): CallEstimate => ({
  cost: plus(scaled(size.max, factor), 11n),
  size,
});

/** Each element is compared with each other one; strings and bytes are traversed. */
const comparesEach =
  (of: number): Rule =>
  (operands, overloadId) =>
    makesList(
      sizes.productSize(sizeAt(operands, of), sizeAt(operands, of)),
      /^list_(string|bytes)_/.test(overloadId) ? 2.1 : 2,
    );

const pairs =
  (factor: number): Rule =>
  (operands) => ({
    cost: plus(scaled(times(maxAt(operands, 0), maxAt(operands, 1)), factor), 1n),
  });

const traversesFirst =
  (factor: number, keepsSize = false): Rule =>
  (operands) =>
    operands.length === 0
      ? undefined
      : {
          cost: scaled(maxAt(operands, 0), factor),
          size: keepsSize ? sizeAt(operands, 0) : undefined,
        };

/** A list whose element type is unknown counts as a string for functions that strings have, too. */
const elementwise =
  (unknown: (count: bigint) => bigint): Rule =>
  ([list]) => {
    const element = list?.type.params[0];
    const count = (list?.size ?? anySize).max;
    if (element === undefined) return { cost: unknown(count) };
    const isText = element.kind === "string" || element.kind === "bytes";
    const each = isText ? plus(1n, stringCost((list?.elementSize ?? anySize).max)) : 1n;
    return { cost: times(count, each) };
  };

const search = (operands: readonly Operand[], text: number, pattern: number): bigint =>
  times(stringCost(plus(maxAt(operands, text), 1n)), scaled(maxAt(operands, pattern), 0.25));

/**
 * Each occurrence of the shortest possible substring becomes the longest possible one, or the string is
 * unchanged.
 */
const replace: Rule = (operands) => {
  const [text, from, to] = [sizeAt(operands, 0), sizeAt(operands, 1), sizeAt(operands, 2)];
  const bound = (all: bigint, part: bigint, removed: boolean): [count: bigint, kept: bigint] => {
    if (part === 0n) return [plus(all, 1n), all];
    if (removed) return [0n, all];
    return [BigInt(Math.ceil(Number(all) / Number(part))), 0n];
  };
  const [maxCount, maxKept] = bound(text.max, from.min, to.max <= from.min);
  const [minCount, minKept] = bound(text.min, from.max, from.max <= to.min);
  return {
    cost: scaled(text.max, 0.2),
    size: {
      min: plus(times(minCount, to.min), minKept),
      max: plus(times(maxCount, to.max), maxKept),
    },
  };
};

const split: Rule = (operands) => {
  const limit = operands[2]?.expr;
  const parts =
    limit?.kind === "literal" && typeof limit.value === "bigint" ? wrapped(limit.value) : maxAt(operands, 0);
  return { cost: scaled(maxAt(operands, 0), 0.2), size: upTo(parts) };
};

const join: Rule = ([list, separator]) => {
  const count = list?.size ?? anySize;
  const isKnown = list !== undefined && list.type.params.length > 0;
  let size = isKnown ? sizes.productSize(count, list.elementSize ?? anySize) : sizes.exactly(0n);
  if (separator !== undefined) {
    const before = (n: bigint): bigint => (n > 0n ? n - 1n : 0n);
    const gaps = { min: before(count.min), max: before(count.max) };
    size = sizes.sumSize(size, sizes.productSize(separator.size ?? anySize, gaps));
  }
  return { cost: stringCost(size.max), size };
};

/** Addresses have 4 to 16 bytes. */
const contains =
  (cost: bigint, stringOverload: string): Rule =>
  (operands, overloadId) => ({
    cost: overloadId === stringOverload ? plus(cost, stringCost(maxAt(operands, 1))) : cost,
  });

/** Types of Kubernetes that are compared in constant time. */
const constantTime: ReadonlySet<string> = new Set(
  [
    "kubernetes.Quantity kubernetes.Semver net.IP net.CIDR kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.ResourceCheck kubernetes.authorization.Decision",
  ].flatMap((names) => names.split(" ")),
);

const equality: Rule = ([a, b]) => {
  if (a === undefined || b === undefined || !sameType(a.type, b.type)) return undefined;
  if (constantTime.has(a.type.name)) return { cost: 1n };
  if (a.type.name === "kubernetes.NamedFormat") return { cost: stringCost(64n) };
  if (a.type.name !== "kubernetes.URL") return undefined;
  return { cost: stringCost(b.size === undefined ? 1n : b.size.max) };
};

/** A field or label selector is parsed; any two characters of it can become a requirement. */
const requirements: Rule = (operands) => {
  const length = maxAt(operands, 1);
  return { cost: plus(10n, stringCost(length), scaled(scaled(length, 0.5), 50)) };
};

const shorter: Rule = (operands) => ({
  cost: stringCost(sizes.smaller(maxAt(operands, 0), maxAt(operands, 1))),
});

const concatenation =
  (cost: (size: bigint) => bigint): Rule =>
  (operands) => {
    const size = sizes.sumSize(sizeAt(operands, 0), sizeAt(operands, 1));
    return { cost: cost(size.max), size };
  };

/** A conversion of a string, by the size of its result. */
const conversion =
  (result: (size: SizeEstimate) => SizeEstimate): Rule =>
  (operands) => {
    const size = sizeAt(operands, 0);
    return { cost: stringCost(size.max), size: result(size) };
  };

type RuleTable = readonly (readonly [names: string, rule: Rule])[];
const table = (rules: RuleTable): ReadonlyMap<string, Rule> =>
  new Map(rules.flatMap(([names, rule]) => names.split(" ").map((name) => [name, rule] as const)));

/** Rules of cel-go's list and set extensions, by overload ID. They have precedence over all others. */
const byExtension = table([
  [
    "list_slice",
    (operands) => {
      const length = wrapped(literalInt(operands[2], maxAt(operands, 0)) - literalInt(operands[1], 0n));
      return makesList(sizes.exactly(length));
    },
  ],
  ["list_flatten", (operands) => makesList(sizeAt(operands, 0))],
  [
    "list_flatten_int",
    (operands) => makesList(sizeAt(operands, 0), Number(literalInt(operands[1], unlimited))),
  ],
  ["lists_range", (operands) => makesList(sizes.exactly(literalInt(operands[0], unlimited)))],
  ["list_reverse", (operands) => makesList(sizeAt(operands, 0))],
  ["list_distinct", comparesEach(0)],
  ["list_sets_contains_list list_sets_intersects_list", pairs(1)],
  ["list_sets_equivalent_list", pairs(2)],
]);

/** Rules of Kubernetes, by function name. They come second. */
const byName = table([
  ["check", () => ({ cost: 350_000n })],
  ["fieldSelector labelSelector", requirements],
  ["isSorted sum max min indexOf lastIndexOf", elementwise(stringCost)],
  ["includes", elementwise((count) => count)],
  ["url lowerAscii upperAscii substring trim jsonpatch.escapeKey", traversesFirst(0.1, true)],
  ["replace", replace],
  ["split", split],
  ["join", join],
  ["find findAll", (operands) => ({ cost: search(operands, 0, 1), size: upTo(maxAt(operands, 0)) })],
  ["cidr isIP isCIDR quantity isQuantity semver isSemver", traversesFirst(0.1)],
  [
    "ip",
    (operands, overloadId) =>
      overloadId === "cidr_ip" ? { cost: 1n } : traversesFirst(0.1)(operands, overloadId),
  ],
  ["ip.isCanonical", traversesFirst(0.2)],
  ["containsIP", contains(4n, "cidr_contains_ip_string")],
  ["containsCIDR", contains(7n, "cidr_contains_cidr_string")],
  ["validate", (operands) => ({ cost: scaled(stringCost(maxAt(operands, 1)), 32) })],
  ["_==_", equality],
]);

/** Rules of the language, by overload ID. They come last. */
const byOverload = table([
  ["string_format", traversesFirst(0.1)],
  ["string_to_bytes", conversion(({ min, max }) => ({ min, max: wrapped(max * 4n) }))],
  ["bytes_to_string", conversion(({ min, max }) => ({ min: min / 4n, max }))],
  ["strings_quote", conversion(({ min, max }) => ({ min: wrapped(min + 2n), max: wrapped(max * 2n + 2n) }))],
  ["starts_with_string ends_with_string", (operands) => ({ cost: stringCost(maxAt(operands, 1)) })],
  ["in_list", (operands) => ({ cost: maxAt(operands, 1) })],
  ["matches matches_string", (operands) => ({ cost: search(operands, 0, 1) })],
  [
    "contains_string",
    (operands) => ({ cost: times(stringCost(maxAt(operands, 0)), stringCost(maxAt(operands, 1))) }),
  ],
  ["logical_and logical_or", () => ({ cost: 0n })],
  ["add_string add_bytes", concatenation(stringCost)],
  ["add_list", concatenation(() => 1n)],
  ["equals not_equals", shorter],
  ["less_string greater_string less_equals_string greater_equals_string", shorter],
  ["less_bytes greater_bytes less_equals_bytes greater_equals_bytes", shorter],
]);

/** Estimates a call of an overload. A call without a rule costs 1. */
export function estimateCall(name: string, overloadId: string, operands: readonly Operand[]): CallEstimate {
  const sorts = /^list_.*_(sort|sortByAssociatedKeys)$/.exec(overloadId)?.[1];
  const extension =
    sorts === undefined ? byExtension.get(overloadId) : comparesEach(sorts === "sort" ? 0 : 1);
  return (
    extension?.(operands, overloadId) ??
    byName.get(name)?.(operands, overloadId) ??
    byOverload.get(overloadId)?.(operands, overloadId) ??
    one(operands, overloadId)!
  );
}
