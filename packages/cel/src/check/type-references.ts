import { type Expr, parts } from "../syntax/ast.ts";

/**
 * The first name that the checker takes for a type and that stands for no value: `duration`, or a variable of a macro
 * that holds a type, as in `cel.bind(t, int, …)`. cel-go looks every name of a type up among the values, so that
 * programs with such names cannot be made.
 */
export function typeWithoutValue(expr: Expr, hasValue: (name: string) => boolean): string | undefined {
  if (expr.kind === "identifier" || (expr.kind === "select" && expr.global !== undefined)) {
    const name = expr.global ?? (expr.kind === "identifier" ? expr.name : expr.field);
    return expr.type?.kind === "type" && !hasValue(name) ? name : undefined;
  }
  for (const part of inOrder(expr)) {
    const name = typeWithoutValue(part, hasValue);
    if (name !== undefined) return name;
  }
  return undefined;
}

/** What a loop starts from is looked at before what it runs over. */
const inOrder = (expr: Expr): readonly Expr[] =>
  expr.kind === "comprehension"
    ? [expr.init, expr.range, expr.condition, expr.step, expr.result]
    : parts(expr);
