import { RE2JS, RE2JSSyntaxException } from "@bufbuild/re2";
import { missing } from "../../values/ordering.ts";
import { boolType, intType, listType, stringType } from "../../values/types.ts";
import { CelError, noSuchOverload, Optional, TypeValue, type Value } from "../../values/value.ts";
import { declare, type FunctionDeclaration, form, method } from "../declarations.ts";
import { search } from "./search.ts";

/** Patterns that were compiled lately: most are constants of an expression that runs again and again. */
const compiled = new Map<string, RE2JS | string>();
/** Patterns that are kept, and their characters: each takes a hundred bytes and more. */
const most = 256;
const mostText = 2 ** 18;
let kept = 0;

/** The pattern, or why it is none, in the words of Go's regexp. */
function compilePattern(pattern: string): RE2JS | string {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  kept += pattern.length;
  if (compiled.size >= most || kept > mostText) {
    compiled.clear();
    kept = pattern.length;
  }
  const result = compile(pattern);
  compiled.set(pattern, result);
  return result;
}

/** Why a text is no pattern; undefined if it is one. */
export function patternProblem(pattern: string): string | undefined {
  const result = compilePattern(pattern);
  return typeof result === "string" ? result : undefined;
}

/** Whether a pattern is found in a text, in linear time; undefined if it is no pattern. */
export function patternMatches(pattern: string, text: string): boolean | undefined {
  const regex = compilePattern(pattern);
  return typeof regex === "string" ? undefined : regex.test(text);
}

function compile(pattern: string): RE2JS | string {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const nameless = error.error.startsWith("duplicate") ? withoutNames(pattern) : pattern;
    if (nameless !== pattern) return compile(nameless);
    // Of what is too large or too deep Go shows all.
    const shown = error.error.startsWith("expression ") ? pattern : (error.input ?? "");
    return `error parsing regexp: ${error.error}: \`${shown}\``;
  }
}

/** What may hold a `(` that opens no group, or the name of a group. */
const names = /\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]?|\(\?P?<\w+>/gsu;

/** In Go two groups may have one name. Nobody asks for names here. */
const withoutNames = (pattern: string): string =>
  pattern.replace(names, (part) => (part.startsWith("(") ? "(" : part));

/** The texts that Go finds in values of other types too, where it does not look at the type first. */
function native(value: Value): Value {
  if (value instanceof TypeValue) return value.name;
  return value instanceof Optional && value.value !== undefined ? native(value.value) : value;
}

function matches(input: Value, pattern: Value): Value {
  const text = native(input);
  if (typeof text !== "string" || typeof pattern !== "string") return noSuchOverload;
  const regex = compilePattern(pattern);
  return typeof regex === "string" ? new CelError(regex) : regex.test(text);
}

function find(input: Value, pattern: Value): Value {
  const text = native(input);
  if (typeof text !== "string" || typeof pattern !== "string") return noSuchOverload;
  const regex = compilePattern(pattern);
  if (typeof regex === "string") return new CelError(`Illegal regex: ${regex}`);
  const found = search(regex, text, 0);
  return found === undefined ? "" : text.slice(found.start, found.end);
}

/**
 * What one call may look at besides twice its text: a pattern like `a*b|a` looks at all of the rest before it is
 * sure of one letter, and upstream has no bound but its time limit.
 */
const mostWork = 1_000_000;
const tooMuchWork = new CelError("findAll: the pattern has to look at too much of the text for each match");

/** All matches that do not overlap; no empty one right behind another. A negative limit is none. */
function findAll(input: Value, pattern: Value, most: Value): Value {
  const [text, limit] = [native(input), native(most)];
  if (typeof text !== "string" || typeof pattern !== "string" || typeof limit !== "bigint")
    return noSuchOverload;
  const regex = compilePattern(pattern);
  if (typeof regex === "string") return new CelError(`Illegal regex: ${regex}`);
  const all: string[] = [];
  let last = -1;
  let work = 0;
  for (let from = 0; from <= text.length; ) {
    if (limit >= 0n && BigInt(all.length) >= limit) break;
    const found = search(regex, text, from);
    if (found === undefined) break;
    const { start, end, looked } = found;
    work += looked - from;
    if (work > mostWork + 2 * text.length) return tooMuchWork;
    if (end > from || start !== last) all.push(text.slice(start, end));
    last = end;
    from = end > from ? end : from + ((text.codePointAt(from) ?? 0) > 0xffff ? 2 : 1);
  }
  return all;
}

const pair = [stringType, stringType];
const strings = listType(stringType);

/** Regular expressions in RE2's syntax (`matches` of the language, and the Kubernetes CEL library of 1.0). */
export const regexLibrary: readonly FunctionDeclaration[] = [
  declare(
    "matches",
    [form("matches", pair, boolType, matches), method("matches_string", pair, boolType, matches)],
    (a, b) => (typeof a === "string" ? matches(a, b) : missing("matches", a)),
  ),
  declare("find", [method("string_find_string", pair, stringType, find)]),
  declare("findAll", [
    method("string_find_all_string", pair, strings, (a, b) => findAll(a, b, -1n)),
    method("string_find_all_string_int", [...pair, intType], strings, findAll),
  ]),
];
