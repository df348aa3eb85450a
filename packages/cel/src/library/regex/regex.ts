import { missingOperator } from "../../values/ordering.ts";
import { boolType, intType, listType, stringType } from "../../values/types.ts";
import { CelError, noSuchOverload, Optional, TypeValue, type Value } from "../../values/value.ts";
import * as charges from "../costs/charges.ts";
import type { Cost } from "../costs/cost.ts";
import * as estimates from "../costs/estimates.ts";
import { upTo } from "../costs/size-estimate.ts";
import {
  bound,
  declare,
  type FunctionDeclaration,
  inContext,
  method,
  overload,
  priced,
} from "../declarations.ts";
import { patternWork } from "./pattern.ts";
import { search } from "./search.ts";

/** Go converts to a native string where it does not check the type first: types become their names. */
function native(value: Value): Value {
  if (value instanceof TypeValue) return value.name;
  return value instanceof Optional && value.value !== undefined ? native(value.value) : value;
}

const matches = inContext(({ patterns, budget }) => (input, pattern) => {
  const text = native(input);
  if (typeof text !== "string" || typeof pattern !== "string") return noSuchOverload;
  const regex = patterns.compile(pattern);
  if (typeof regex === "string") return new CelError(regex);
  budget.match(patternWork(regex, text));
  return regex.test(text);
});

const find = inContext(({ patterns, budget }) => (input, pattern) => {
  const text = native(input);
  if (typeof text !== "string" || typeof pattern !== "string") return noSuchOverload;
  const regex = patterns.compile(pattern);
  if (typeof regex === "string") return new CelError(`Illegal regex: ${regex}`);
  budget.match(2 * patternWork(regex, text));
  const found = search(regex, text, 0);
  return found === undefined ? "" : text.slice(found.start, found.end);
});

/**
 * Maximum number of characters that one call may look at, besides twice the text: for each match a pattern
 * like `a*b|a` looks at the rest of the text. Upstream is bounded only by its timeout.
 */
const maxLookahead = 1_000_000;
const tooMuchLookahead = new CelError(
  "findAll: the pattern has to look at too much of the text for each match",
);

/** Finds matches that do not overlap. An empty match directly after another match does not count. */
const findAll = inContext(({ patterns, budget }) => (input, pattern, count) => {
  const [text, limit] = [native(input), native(count)];
  if (typeof text !== "string" || typeof pattern !== "string" || typeof limit !== "bigint")
    return noSuchOverload;
  const regex = patterns.compile(pattern);
  if (typeof regex === "string") return new CelError(`Illegal regex: ${regex}`);
  const all: string[] = [];
  let last = -1;
  let lookahead = 0;
  budget.match(patternWork(regex, text));
  const perCharacter = patternWork(regex, " ");
  for (let from = 0; from <= text.length; ) {
    // A negative limit means no limit.
    if (limit >= 0n && BigInt(all.length) >= limit) break;
    const found = search(regex, text, from);
    if (found === undefined) break;
    const { start, end, lookedAt } = found;
    budget.match((lookedAt - from) * perCharacter);
    lookahead += lookedAt - from;
    if (lookahead > maxLookahead + 2 * text.length) return tooMuchLookahead;
    if (end > from || start !== last) all.push(text.slice(start, end));
    last = end;
    from = end > from ? end : from + ((text.codePointAt(from) ?? 0) > 0xffff ? 2 : 1);
  }
  return all;
});

const pair = [stringType, stringType];
const strings = listType(stringType);

const matchCost: Cost = {
  estimate: (operands) => ({ cost: estimates.search(operands) }),
  charge: charges.search,
};
const findCost: Cost = {
  estimate: (operands) => ({
    cost: estimates.search(operands),
    size: upTo(estimates.maxAt(operands, 0)),
  }),
  charge: charges.search,
};

/** `matches` of the language, and the regex library of Kubernetes 1.0, in RE2's syntax. */
export const regexLibrary: readonly FunctionDeclaration[] = [
  {
    ...declare(
      "matches",
      [
        priced(matchCost, overload("matches", pair, boolType, matches)),
        priced(matchCost, method("matches_string", pair, boolType, matches)),
      ],
      inContext((context) => {
        const invoke = bound(matches, context);
        return (a, b) => (typeof a === "string" ? invoke(a, b, null, null) : missingOperator("matches", a));
      }),
    ),
    hasPattern: true,
    checkLiteral: (text, { patterns }) => typeof patterns.compile(text) !== "string",
  },
  priced(findCost, {
    ...declare("find", [method("string_find_string", pair, stringType, find)]),
    hasPattern: true,
  }),
  priced(findCost, {
    ...declare("findAll", [
      method(
        "string_find_all_string",
        pair,
        strings,
        inContext((context) => {
          const invoke = bound(findAll, context);
          return (a, b) => invoke(a, b, -1n, null);
        }),
      ),
      method("string_find_all_string_int", [...pair, intType], strings, findAll),
    ]),
    hasPattern: true,
  }),
];
