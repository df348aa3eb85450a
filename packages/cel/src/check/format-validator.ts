import { accepted, type Clause, FormatError, formatClauses, wrongType } from "../library/format/clauses.ts";
import type { Call, Expr } from "../syntax/ast.ts";
import type { Problem } from "../syntax/source.ts";
import { type CelType, errorType } from "../values/types.ts";
import type { CheckedExpression } from "./checked-expression.ts";

/**
 * Checks calls of `format` whose format and list of arguments are literals (the validator of cel-go
 * ext.Strings).
 */
export function validateFormats(checked: CheckedExpression): Problem[] {
  const problems: Problem[] = [];
  for (const node of checked.nodes()) {
    if (node.kind !== "call") continue;
    const { name, target } = checked.referenceOf(node);
    const problem = name === "format" ? checkCall(checked, node, target) : undefined;
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

function checkCall(
  checked: CheckedExpression,
  { args: [list], offset }: Call,
  target: Expr | undefined,
): Problem | undefined {
  if (target?.kind !== "literal" || typeof target.value !== "string" || list?.kind !== "list")
    return undefined;
  const args = list.elements;
  const result = formatClauses(
    target.value,
    args.length,
    (clause, i) => rejected(checked, clause, args[i]!) ?? "",
    true,
  );
  if (result instanceof FormatError) return { offset: result.offset ?? offset, message: result.message };
  if (args.length <= result.used) return undefined;
  const counts = `expected ${result.used}, got ${args.length}`;
  return { offset, message: `too many arguments supplied to string.format (${counts})` };
}

const typeOf = (checked: CheckedExpression, expr: Expr): CelType => checked.typeOf(expr) ?? errorType;

function rejected(checked: CheckedExpression, { verb }: Clause, arg: Expr): FormatError | undefined {
  const wrong =
    verb === "s"
      ? unprintable(checked, arg)
      : isAccepted(checked, arg, accepted[verb].types)
        ? undefined
        : arg;
  return wrong && wrongType(verb, typeOf(checked, wrong).name, wrong.offset);
}

/** Strings are accepted as doubles: `"NaN"`. */
function isAccepted(checked: CheckedExpression, arg: Expr, types: readonly string[]): boolean {
  const { kind, name } = typeOf(checked, arg);
  return kind === "dyn" || types.includes(name) || (types[0] === "double" && name === "string");
}

/** The argument, or the part of a literal, that `%s` does not accept. */
function unprintable(checked: CheckedExpression, arg: Expr): Expr | undefined {
  if (!isAccepted(checked, arg, accepted.s.types)) return arg;
  const parts = arg.kind === "list" || arg.kind === "map" ? checked.partsOf(arg) : [];
  for (const part of parts) {
    const wrong = unprintable(checked, part);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
