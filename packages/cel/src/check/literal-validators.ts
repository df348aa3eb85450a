import type { CallContext } from "../library/call-context.ts";
import { bound, type FunctionDeclaration } from "../library/declarations.ts";
import type { Call, Expr, ListLiteral, MapLiteral } from "../syntax/ast.ts";
import type { Problem } from "../syntax/source.ts";
import { type CelType, dynType, errorType, isOptional, sameType } from "../values/types.ts";
import { CelError } from "../values/value.ts";
import type { CheckedExpression } from "./checked-expression.ts";
import { mismatch } from "./checker.ts";

/**
 * The AST validators of Kubernetes (since 1.29): the elements of a literal have one type, and constant
 * durations, timestamps and patterns are valid. The expression must be free of checker problems.
 */
export function validateLiterals(
  checked: CheckedExpression,
  functions: ReadonlyMap<string, FunctionDeclaration>,
  context: CallContext,
): Problem[] {
  const problems: Problem[] = [];
  const visit = (node: Expr, exempt: boolean): void => {
    if (node.kind === "list" && !exempt) for (const each of mixedElements(checked, node)) problems.push(each);
    if (node.kind === "map" && !exempt) for (const each of mixedEntries(checked, node)) problems.push(each);
    let inExempt = exempt;
    if (node.kind === "call") {
      for (const each of invalidArgument(checked, node, functions, context)) problems.push(each);
      inExempt ||= mixing.has(checked.referenceOf(node).name);
    }
    for (const part of checked.partsOf(node)) visit(part, inExempt);
  };
  visit(checked.root, false);
  return problems;
}

/** Functions whose arguments may contain literals of mixed types, at any depth. */
const mixing: ReadonlySet<string> = new Set(["format"]);

function typeOf(checked: CheckedExpression, expr: Expr, optional: boolean): CelType {
  const type = checked.typeOf(expr) ?? errorType;
  if (!optional) return type;
  // Upstream panics for an optional element of type dyn.
  return isOptional(type) ? type.params[0]! : dynType;
}

/** Reports the first element whose type differs from that of the first element. */
function mixedElements(checked: CheckedExpression, list: ListLiteral): Problem[] {
  const types = list.elements.map((element, i) => typeOf(checked, element, list.optional.has(i)));
  const odd = types.findIndex((type) => !sameType(types[0]!, type));
  if (odd < 0) return [];
  return [{ offset: list.elements[odd]!.offset, message: mismatch(types[0]!, types[odd]!) }];
}

/** Reports every key and value whose type differs from that of the first entry. */
function mixedEntries(checked: CheckedExpression, map: MapLiteral): Problem[] {
  const problems: Problem[] = [];
  const [first] = map.entries;
  if (first === undefined) return problems;
  const key = typeOf(checked, first.key, false);
  const value = typeOf(checked, first.value, first.optional);
  const compare = (expr: Expr, wanted: CelType, actual: CelType): void => {
    if (!sameType(wanted, actual)) problems.push({ offset: expr.offset, message: mismatch(wanted, actual) });
  };
  for (const entry of map.entries) {
    compare(entry.key, key, typeOf(checked, entry.key, false));
    compare(entry.value, value, typeOf(checked, entry.value, entry.optional));
  }
  return problems;
}

/** Evaluates a call with a constant as its first argument, which of the method `matches` is the pattern. */
function invalidArgument(
  checked: CheckedExpression,
  call: Call,
  functions: ReadonlyMap<string, FunctionDeclaration>,
  context: CallContext,
): Problem[] {
  const { name, overloads } = checked.referenceOf(call);
  const arg = call.args[0];
  const isValid = functions.get(name)?.checkLiteral;
  if (arg?.kind !== "literal" || isValid === undefined) return [];
  const { value, offset } = arg;
  const message = `invalid ${name} argument`;
  if (typeof value === "string") return isValid(value, context) ? [] : [{ offset, message }];
  const invoke = overloads[0]?.invoke ?? functions.get(name)?.singleton;
  // The checker accepts null, but no overload does.
  const fails =
    value === null ||
    (invoke !== undefined && bound(invoke, context)(value, null, null, null) instanceof CelError);
  return fails ? [{ offset, message }] : [];
}
