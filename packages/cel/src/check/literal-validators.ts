import type { CallContext } from "../library/call-context.ts";
import type { FunctionDeclaration } from "../library/declarations.ts";
import { literalChecks } from "../library/index.ts";
import { type Call, type Expr, parts } from "../syntax/ast.ts";
import type { Problem } from "../syntax/source.ts";
import { type CelType, dynType, errorType, isOptional, sameType } from "../values/types.ts";
import { CelError } from "../values/value.ts";
import { mismatch } from "./checker.ts";

/**
 * The checks that Kubernetes adds to the type checker (since 1.29): elements of one literal are of one type, and
 * constant durations, timestamps and patterns can be read. The expression must have passed the checker.
 */
export function checkLiterals(
  expr: Expr,
  functions: ReadonlyMap<string, FunctionDeclaration>,
  context: CallContext,
): Problem[] {
  const problems: Problem[] = [];
  const visit = (node: Expr, exempt: boolean): void => {
    if (node.kind === "list" && !exempt) for (const each of mixedElements(node)) problems.push(each);
    if (node.kind === "map" && !exempt) for (const each of mixedEntries(node)) problems.push(each);
    if (node.kind === "call") for (const each of unreadable(node, functions, context)) problems.push(each);
    const mixes = exempt || (node.kind === "call" && mixing.has(node.name));
    for (const part of parts(node)) visit(part, mixes);
  };
  visit(expr, false);
  return problems;
}

/** Functions in whose calls literals may mix types, at any depth. */
const mixing: ReadonlySet<string> = new Set(["format"]);

const typeOf = (expr: Expr, optional: boolean): CelType => {
  const type = expr.type ?? errorType;
  if (!optional) return type;
  // Upstream has no answer for an optional element of type dyn: it panics.
  return isOptional(type) ? type.params[0]! : dynType;
};

/** The first element of another type than the first one. */
function mixedElements(list: Expr & { kind: "list" }): Problem[] {
  const types = list.elements.map((element, i) => typeOf(element, list.optional.has(i)));
  const odd = types.findIndex((type) => !sameType(types[0]!, type));
  return odd < 0 ? [] : [{ at: list.elements[odd]!.at, message: mismatch(types[0]!, types[odd]!) }];
}

/** Every key and value of another type than the first one. */
function mixedEntries(map: Expr & { kind: "map" }): Problem[] {
  const problems: Problem[] = [];
  const [first] = map.entries;
  if (first === undefined) return problems;
  const key = typeOf(first.key, false);
  const value = typeOf(first.value, first.optional);
  const compare = (expr: Expr, wanted: CelType, actual: CelType): void => {
    if (!sameType(wanted, actual)) problems.push({ at: expr.at, message: mismatch(wanted, actual) });
  };
  for (const entry of map.entries) {
    compare(entry.key, key, typeOf(entry.key, false));
    compare(entry.value, value, typeOf(entry.value, entry.optional));
  }
  return problems;
}

/** What evaluating the call with its constant argument shows; of `matches` the first argument counts, whatever its role. */
function unreadable(
  call: Call,
  functions: ReadonlyMap<string, FunctionDeclaration>,
  context: CallContext,
): Problem[] {
  const arg = call.args[0];
  const isValid = literalChecks.get(call.name);
  if (arg?.kind !== "literal" || isValid === undefined) return [];
  const { value } = arg;
  const message = `invalid ${call.name} argument`;
  if (typeof value === "string") return isValid(value, context) ? [] : [{ at: arg.at, message }];
  const invoke = call.overloads?.[0]?.invoke ?? functions.get(call.name)?.singleton;
  // The checker accepts null, but no overload does.
  const fails = value === null || invoke?.(value, null, null, null, context) instanceof CelError;
  return fails ? [{ at: arg.at, message }] : [];
}
