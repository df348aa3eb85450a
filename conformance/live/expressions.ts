import type { Random } from "@dray/testing/random";
import { productions } from "./grammar.ts";
import { literals } from "./literals.ts";

interface Variable {
  readonly name: string;
  readonly type: string;
}

/**
 * A random expression of type bool; now and then one of another type, or with a mistake in it. `depth` bounds
 * the nesting.
 */
export function randomExpression(random: Random, depth: number): string {
  const text = expression(random, random.chance(0.95) ? "bool" : "dyn", depth, []);
  return random.chance(0.15) ? mutated(random, text) : text;
}

const byType = new Map<string, string[]>();
for (const [type, templates] of Object.entries(productions)) byType.set(type, [...templates]);

function expression(random: Random, type: string, depth: number, scope: readonly Variable[]): string {
  const variables = scope.filter((variable) => variable.type === type);
  if (variables.length > 0 && random.chance(depth <= 0 ? 0.7 : 0.3)) return random.pick(variables).name;
  const leaves = literals[type] ?? [];
  const templates = [...(byType.get(type) ?? []), ...anyType];
  if (leaves.length > 0 && (depth <= 0 || random.chance(0.15))) return random.pick(leaves);
  // A value of an attribute or of dyn() may stand for anything.
  if (random.chance(0.06)) return expression(random, "dyn", depth - 1, scope);
  return fill(random, random.pick(templates).replace(/\bT\}/g, `${type}}`), depth - 1, scope);
}

/** Templates of expressions that have a value of any type. */
const anyType: readonly string[] = [
  "({bool} ? {T} : {T})",
  "[{T}, {T}][{int}]",
  "optional.of({T}).orValue({T})",
  "cel.bind($v, {string}, {v=string:T})",
  "cel.bind($v, {int}, {v=int:T})",
  '{"a": {T}}.a',
  "({T})",
  "[{T}].first().orValue({T})",
];

/**
 * Replaces `{type}` by an expression of that type, `$v` by the name of a variable, and `{v=type:result}` by
 * an expression of type `result` in which the variable is known.
 */
function fill(random: Random, template: string, depth: number, scope: readonly Variable[]): string {
  const names = new Map<string, string>();
  const nameOf = (letter: string): string => {
    const known = names.get(letter) ?? `${random.pick(["x", "y", "z", "k"])}${random.int(0, 3)}`;
    names.set(letter, known);
    return known;
  };
  return template
    .replace(/\$(\w)/g, (_, letter: string) => nameOf(letter))
    .replace(/\{((?:\w=[\w()]+,?)*:)?([\w()]+)\}/g, (whole, declared: string | undefined, type: string) => {
      if (literals[type] === undefined && !byType.has(type)) return whole;
      const added = (declared ?? "").matchAll(/(\w)=([\w()]+)/g);
      const variables = [...added].map(([, letter = "", type = ""]) => ({ name: nameOf(letter), type }));
      return expression(random, type, depth, [...variables, ...scope]);
    });
}

const pieces = [
  "(",
  ")",
  "[",
  "]",
  "{",
  "}",
  ".",
  ",",
  "==",
  "&&",
  "!",
  "-",
  "?",
  ":",
  "x",
  "1",
  "'a'",
  "null",
  "dyn",
  "in",
];

/** Cuts something out, doubles it, or puts something in. */
function mutated(random: Random, text: string): string {
  const at = random.int(0, text.length);
  const length = random.int(1, 4);
  const put = random.chance(0.5) ? random.pick(pieces) : text.slice(at, at + length);
  return text.slice(0, at) + put + text.slice(random.chance(0.5) ? at : at + length);
}
