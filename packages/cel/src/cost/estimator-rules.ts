import type { Expr } from "../syntax/ast.ts";
import { type CelType, sameType } from "../values/types.ts";
import * as sizes from "./size-estimate.ts";
import { anySize, plus, type Size, scaled, times, unlimited, upTo, wrapped } from "./size-estimate.ts";

/** An operand of a call, and what is known of it before anything runs. */
export interface Operand {
  readonly expr: Expr;
  readonly type: CelType;
  readonly size: Size | undefined;
  /** Most elements' size, where the environment bounds it. */
  readonly elementSize: Size | undefined;
}

/** The most that a call can cost, without its operands, and the size of what it gives (undefined: its type says). */
export interface CallEstimate {
  readonly cost: bigint;
  readonly size?: Size | undefined;
}

/** Operands of a call; a receiver comes first. Undefined: the rule does not apply to this form. */
type Rule = (operands: readonly Operand[], form: string) => CallEstimate | undefined;

/** The size of an operand by its place. */
const at = (operands: readonly Operand[], i: number): Size => operands[i]?.size ?? anySize;
const most = (operands: readonly Operand[], i: number): bigint => at(operands, i).most;

/** What passing over so many characters costs. */
const characters = (count: bigint): bigint => scaled(count, 0.1);
const one: Rule = () => ({ cost: 1n });

/** The whole number that is written out there; a negative one counts as 0. */
function written(operand: Operand | undefined, otherwise: bigint): bigint {
  if (operand?.expr.kind !== "literal" || typeof operand.expr.value !== "bigint") return otherwise;
  return operand.expr.value < 0n ? 0n : operand.expr.value;
}

/** A list is made: 10 for itself, 1 for the call. */
const makesList = (size: Size, factor = 1): CallEstimate => ({
  cost: plus(scaled(size.most, factor), 11n),
  size,
});

const comparesEach =
  (of: number): Rule =>
  (operands, form) =>
    makesList(
      sizes.productSize(at(operands, of), at(operands, of)),
      /^list_(string|bytes)_/.test(form) ? 2.1 : 2,
    );

const pairs =
  (factor: number): Rule =>
  (operands) => ({
    cost: plus(scaled(times(most(operands, 0), most(operands, 1)), factor), 1n),
  });

/** Extensions of lists and sets (cel-go), by form; they come first. */
const extensions: readonly (readonly [forms: string, rule: Rule])[] = [
  [
    "list_slice",
    (operands) => {
      const length = wrapped(written(operands[2], most(operands, 0)) - written(operands[1], 0n));
      return makesList(sizes.exactly(length));
    },
  ],
  ["list_flatten", (operands) => makesList(at(operands, 0))],
  ["list_flatten_int", (operands) => makesList(at(operands, 0), Number(written(operands[1], unlimited)))],
  ["lists_range", (operands) => makesList(sizes.exactly(written(operands[0], unlimited)))],
  ["list_reverse", (operands) => makesList(at(operands, 0))],
  ["list_distinct", comparesEach(0)],
  ["list_sets_contains_list list_sets_intersects_list", pairs(1)],
  ["list_sets_equivalent_list", pairs(2)],
];

const first =
  (factor: number, keepsSize = false): Rule =>
  (operands) =>
    operands.length === 0
      ? undefined
      : {
          cost: scaled(most(operands, 0), factor),
          size: keepsSize ? at(operands, 0) : undefined,
        };

/** A list of elements of unknown type is taken for a text by functions that texts have, too. */
const elementwise =
  (unknown: (count: bigint) => bigint): Rule =>
  ([list]) => {
    const element = list?.type.params[0];
    const count = (list?.size ?? anySize).most;
    if (element === undefined) return { cost: unknown(count) };
    const text = element.kind === "string" || element.kind === "bytes";
    const each = text ? plus(1n, characters((list?.elementSize ?? anySize).most)) : 1n;
    return { cost: times(count, each) };
  };

const search = (operands: readonly Operand[], text: number, pattern: number): bigint =>
  times(characters(plus(most(operands, text), 1n)), scaled(most(operands, pattern), 0.25));

/** Every occurrence of the shortest text there can be becomes the longest one, or the text stays as it is. */
const replaced: Rule = (operands) => {
  const [text, from, to] = [at(operands, 0), at(operands, 1), at(operands, 2)];
  const bound = (all: bigint, part: bigint, gone: boolean): [count: bigint, kept: bigint] => {
    if (part === 0n) return [plus(all, 1n), all];
    if (gone) return [0n, all];
    return [BigInt(Math.ceil(Number(all) / Number(part))), 0n];
  };
  const [countMost, keptMost] = bound(text.most, from.least, to.most <= from.least);
  const [countLeast, keptLeast] = bound(text.least, from.most, from.most <= to.least);
  return {
    cost: scaled(text.most, 0.2),
    size: {
      least: plus(times(countLeast, to.least), keptLeast),
      most: plus(times(countMost, to.most), keptMost),
    },
  };
};

const split: Rule = (operands) => {
  const limit = operands[2]?.expr;
  const parts =
    limit?.kind === "literal" && typeof limit.value === "bigint" ? wrapped(limit.value) : most(operands, 0);
  return { cost: scaled(most(operands, 0), 0.2), size: upTo(parts) };
};

const join: Rule = ([list, separator]) => {
  const count = list?.size ?? anySize;
  const known = list !== undefined && list.type.params.length > 0;
  let size = known ? sizes.productSize(count, list.elementSize ?? anySize) : sizes.exactly(0n);
  if (separator !== undefined) {
    const before = (n: bigint): bigint => (n > 0n ? n - 1n : 0n);
    const gaps = { least: before(count.least), most: before(count.most) };
    size = sizes.sumSize(size, sizes.productSize(separator.size ?? anySize, gaps));
  }
  return { cost: characters(size.most), size };
};

/** Addresses have 4 to 16 bytes. */
const contains =
  (bytes: bigint, text: string): Rule =>
  (operands, form) => ({ cost: form === text ? plus(bytes, characters(most(operands, 1))) : bytes });

/** Equality of the types of Kubernetes, none of which is compared in depth. */
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
  if (a.type.name === "kubernetes.NamedFormat") return { cost: characters(64n) };
  if (a.type.name !== "kubernetes.URL") return undefined;
  return { cost: characters(b.size === undefined ? 1n : b.size.most) };
};

/** A selector of fields or labels is parsed into requirements. */
const requirements: Rule = (operands) => {
  const length = most(operands, 1);
  return { cost: plus(10n, characters(length), scaled(scaled(length, 0.5), 50)) };
};

/** What Kubernetes estimates, by the name of the function; it comes second. */
const functions: readonly (readonly [names: string, rule: Rule])[] = [
  ["check", () => ({ cost: 350_000n })],
  ["fieldSelector labelSelector", requirements],
  ["isSorted sum max min indexOf lastIndexOf", elementwise(characters)],
  ["includes", elementwise((count) => count)],
  ["url lowerAscii upperAscii substring trim jsonpatch.escapeKey", first(0.1, true)],
  ["replace", replaced],
  ["split", split],
  ["join", join],
  ["find findAll", (operands) => ({ cost: search(operands, 0, 1), size: upTo(most(operands, 0)) })],
  ["cidr isIP isCIDR quantity isQuantity semver isSemver", first(0.1)],
  ["ip", (operands, form) => (form === "cidr_ip" ? { cost: 1n } : first(0.1)(operands, form))],
  ["ip.isCanonical", first(0.2)],
  ["containsIP", contains(4n, "cidr_contains_ip_string")],
  ["containsCIDR", contains(7n, "cidr_contains_cidr_string")],
  ["validate", (operands) => ({ cost: scaled(characters(most(operands, 1)), 32) })],
  ["_==_", equality],
];

const shorter: Rule = (operands) => ({
  cost: characters(sizes.smaller(most(operands, 0), most(operands, 1))),
});

const joined =
  (cost: (size: bigint) => bigint): Rule =>
  (operands) => {
    const size = sizes.sumSize(at(operands, 0), at(operands, 1));
    return { cost: cost(size.most), size };
  };

/** What the language itself estimates, by form; it comes last. */
const language: readonly (readonly [forms: string, rule: Rule])[] = [
  ["string_format", first(0.1)],
  [
    "string_to_bytes",
    (operands) => {
      const { least, most } = at(operands, 0);
      return { cost: characters(most), size: { least, most: wrapped(most * 4n) } };
    },
  ],
  [
    "bytes_to_string",
    (operands) => {
      const { least, most } = at(operands, 0);
      return { cost: characters(most), size: { least: least / 4n, most } };
    },
  ],
  [
    "strings_quote",
    (operands) => {
      const { least, most } = at(operands, 0);
      return {
        cost: characters(most),
        size: { least: wrapped(least + 2n), most: wrapped(most * 2n + 2n) },
      };
    },
  ],
  ["starts_with_string ends_with_string", (operands) => ({ cost: characters(most(operands, 1)) })],
  ["in_list", (operands) => ({ cost: most(operands, 1) })],
  ["matches matches_string", (operands) => ({ cost: search(operands, 0, 1) })],
  [
    "contains_string",
    (operands) => ({ cost: times(characters(most(operands, 0)), characters(most(operands, 1))) }),
  ],
  ["logical_and logical_or", () => ({ cost: 0n })],
  ["add_string add_bytes", joined(characters)],
  ["add_list", joined(() => 1n)],
  ["equals not_equals", shorter],
  ["less_string greater_string less_equals_string greater_equals_string", shorter],
  ["less_bytes greater_bytes less_equals_bytes greater_equals_bytes", shorter],
];

const table = (rules: readonly (readonly [names: string, rule: Rule])[]): ReadonlyMap<string, Rule> =>
  new Map(rules.flatMap(([names, rule]) => names.split(" ").map((name) => [name, rule] as const)));
const byExtension = table(extensions);
const byName = table(functions);
const byForm = table(language);

/** Estimates a call of a function in one of its forms (cel-go's and Kubernetes' rules); what has no rule costs 1. */
export function estimateCall(name: string, form: string, operands: readonly Operand[]): CallEstimate {
  const sorts = /^list_.*_(sort|sortByAssociatedKeys)$/.exec(form)?.[1];
  const extension = sorts === undefined ? byExtension.get(form) : comparesEach(sorts === "sort" ? 0 : 1);
  return (
    extension?.(operands, form) ??
    byName.get(name)?.(operands, form) ??
    byForm.get(form)?.(operands, form) ??
    one(operands, form)!
  );
}
