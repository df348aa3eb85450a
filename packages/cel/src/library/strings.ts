import { goEscapes } from "@dray/api";
import { intType, listType, stringType } from "../values/types.ts";
import { CelError, costSize, type Value } from "../values/value.ts";
import { scalarText } from "../values/value-text.ts";
import * as charges from "./costs/charges.ts";
import { type Cost, elementwise, mapping } from "./costs/cost.ts";
import * as estimates from "./costs/estimates.ts";
import { maxAt, sizeAt } from "./costs/estimates.ts";
import * as sizes from "./costs/size-estimate.ts";
import { anySize, plus, scaled, times, upTo, wrapped } from "./costs/size-estimate.ts";
import { declare, type FunctionDeclaration, method, overload, priced } from "./declarations.ts";

const outOfRange = (index: bigint): CelError => new CelError(`index out of range: ${index}`);
const points = (text: Value): string[] => Array.from(text as string);

function charAt(text: Value, index: Value): Value {
  const all = points(text);
  const i = index as bigint;
  if (i < 0n || i > BigInt(all.length)) return outOfRange(i);
  return all[Number(i)] ?? "";
}

/** The first occurrence from an index on. The empty string occurs everywhere. */
function indexOf(text: Value, search: Value, from: Value): Value {
  const start = from as bigint;
  if (start < 0n) return outOfRange(start);
  const all = points(text);
  const wanted = points(search);
  if (wanted.length === 0) return start < BigInt(all.length) ? start : BigInt(all.length);
  for (let i = Number(start); i + wanted.length <= all.length; i++) {
    if (wanted.every((point, k) => all[i + k] === point)) return BigInt(i);
  }
  return -1n;
}

/** The last occurrence at or before an index. */
function lastIndexOf(text: Value, search: Value, from: Value): Value {
  const all = points(text);
  const wanted = points(search);
  const start = from === null ? BigInt(all.length) - (wanted.length === 0 ? 0n : 1n) : (from as bigint);
  // Without an index upstream starts from the end, after a check of the lengths.
  if (start < 0n) return from === null ? -1n : outOfRange(start);
  if (wanted.length === 0) return start < BigInt(all.length) ? start : BigInt(all.length);
  if (start >= BigInt(all.length)) return -1n;
  for (let i = Math.min(Number(start), all.length - wanted.length); i >= 0; i--) {
    if (wanted.every((point, k) => all[i + k] === point)) return BigInt(i);
  }
  return -1n;
}

function replace(text: Value, from: Value, to: Value, limit: Value): Value {
  const count = limit === null ? -1 : Number(limit as bigint);
  if (count === 0) return text;
  if (from === "") {
    const all = points(text);
    let out = "";
    let left = count < 0 ? Number.POSITIVE_INFINITY : count;
    for (let i = 0; i <= all.length; i++) {
      if (left-- > 0) out += to as string;
      out += all[i] ?? "";
    }
    return out;
  }
  const pieces = (text as string).split(from as string);
  if (count < 0 || pieces.length - 1 <= count) return pieces.join(to as string);
  const head = pieces.slice(0, count + 1).join(to as string);
  return [head, ...pieces.slice(count + 1)].join(from as string);
}

function split(text: Value, separator: Value, limit: Value): Value {
  const count = limit === null ? -1 : Number(limit as bigint);
  // The empty string has no characters to split into.
  if (count === 0 || (text === "" && separator === "")) return [];
  if (count === 1) return [text];
  const pieces = separator === "" ? points(text) : (text as string).split(separator as string);
  if (count < 0 || pieces.length <= count) return pieces;
  return [...pieces.slice(0, count - 1), pieces.slice(count - 1).join(separator as string)];
}

function substring(text: Value, start: Value, end: Value): Value {
  const all = points(text);
  const length = BigInt(all.length);
  const from = start as bigint;
  const to = end === null ? length : (end as bigint);
  if (end !== null && from > to) return new CelError(`invalid substring range. start: ${from}, end: ${to}`);
  if (from < 0n || from > length) return outOfRange(from);
  if (to < 0n || to > length) return outOfRange(to);
  return all.slice(Number(from), Number(to)).join("");
}

/** Unicode's white space. */
const space = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const edges = new RegExp(`^[${space}]+|[${space}]+$`, "g");

function join(list: Value, separator: Value): Value {
  const texts = list as readonly Value[];
  const odd = texts.find((text) => typeof text !== "string");
  return odd === undefined
    ? texts.join(separator as string)
    : new CelError(`join: invalid input: ${scalarText(odd)}`);
}

const lower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
const upper = (text: string): string => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());

/**
 * Each occurrence of the shortest possible substring becomes the longest possible one, or the string is
 * unchanged.
 */
const replaceCost: Cost = {
  estimate: (operands) => {
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
  },
  charge: charges.firstTwice,
};

const splitCost: Cost = {
  estimate: (operands) => {
    const limit = operands[2]?.expr;
    const isKnown = limit?.kind === "literal" && typeof limit.value === "bigint";
    const parts = isKnown ? wrapped(limit.value as bigint) : maxAt(operands, 0);
    return { cost: scaled(maxAt(operands, 0), 0.2), size: upTo(parts) };
  },
  charge: charges.firstTwice,
};

const joinCost: Cost = {
  estimate: ([list, separator]) => {
    const count = list?.size ?? anySize;
    const isKnown = list !== undefined && list.type.params.length > 0;
    let size = isKnown ? sizes.productSize(count, list.elementSize ?? anySize) : sizes.exactly(0n);
    if (separator !== undefined) {
      const before = (n: bigint): bigint => (n > 0n ? n - 1n : 0n);
      const gaps = { min: before(count.min), max: before(count.max) };
      size = sizes.sumSize(size, sizes.productSize(separator.size ?? anySize, gaps));
    }
    return { cost: estimates.stringCost(size.max), size };
  },
  charge: charges.byValues((_a, _b, _c, result) => Math.ceil(costSize(result) * 2 * 0.1)),
};

const quoteCost: Cost = {
  estimate: estimates.conversion(({ min, max }) => ({ min: wrapped(min + 2n), max: wrapped(max * 2n + 2n) })),
  charge: charges.first,
};

const text = stringType;

/** Strings (cel-go ext.Strings, version 2). */
export const stringsLibrary: readonly FunctionDeclaration[] = [
  declare("charAt", [method("string_char_at_int", [text, intType], text, charAt)]),
  priced(
    elementwise,
    declare("indexOf", [
      method("string_index_of_string", [text, text], intType, (a, b) => indexOf(a, b, 0n)),
      method("string_index_of_string_int", [text, text, intType], intType, indexOf),
    ]),
  ),
  priced(
    elementwise,
    declare("lastIndexOf", [
      method("string_last_index_of_string", [text, text], intType, (a, b) => lastIndexOf(a, b, null)),
      method("string_last_index_of_string_int", [text, text, intType], intType, lastIndexOf),
    ]),
  ),
  priced(
    mapping,
    declare("lowerAscii", [method("string_lower_ascii", [text], text, (a) => lower(a as string))]),
  ),
  priced(
    mapping,
    declare("upperAscii", [method("string_upper_ascii", [text], text, (a) => upper(a as string))]),
  ),
  priced(
    replaceCost,
    declare("replace", [
      method("string_replace_string_string", [text, text, text], text, (a, b, c) => replace(a, b, c, null)),
      method("string_replace_string_string_int", [text, text, text, intType], text, replace),
    ]),
  ),
  priced(
    splitCost,
    declare("split", [
      method("string_split_string", [text, text], listType(text), (a, b) => split(a, b, null)),
      method("string_split_string_int", [text, text, intType], listType(text), split),
    ]),
  ),
  priced(
    mapping,
    declare("substring", [
      method("string_substring_int", [text, intType], text, (a, b) => substring(a, b, null)),
      method("string_substring_int_int", [text, intType, intType], text, substring),
    ]),
  ),
  priced(
    mapping,
    declare("trim", [method("string_trim", [text], text, (a) => (a as string).replace(edges, ""))]),
  ),
  priced(
    joinCost,
    declare("join", [
      method("list_join", [listType(text)], text, (a) => join(a, "")),
      method("list_join_string", [listType(text), text], text, join),
    ]),
  ),
  declare("strings.quote", [
    priced(
      quoteCost,
      overload("strings_quote", [text], text, (a) => {
        const quoted = Array.from(a as string, (c) => goEscapes[c] ?? c).join("");
        return `"${quoted}"`;
      }),
    ),
  ]),
];
