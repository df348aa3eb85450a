import type { Expr } from "../syntax/ast.ts";
import type { CheckedExpression } from "./checked-expression.ts";

/**
 * Returns the first name of a type without a value: `duration`, or a variable of a macro such as `t` in
 * `cel.bind(t, int, …)`. cel-go looks up the value of every name of this kind, and makes no program if it is
 * missing.
 */
export function undefinedType(
  checked: CheckedExpression,
  hasValue: (name: string) => boolean,
): string | undefined {
  const find = (expr: Expr): string | undefined => {
    const global = checked.globalOf(expr);
    const name = global ?? (expr.kind === "identifier" ? expr.name : undefined);
    if (name !== undefined) {
      return checked.typeOf(expr)?.kind === "type" && !hasValue(name) ? name : undefined;
    }
    // In cel-go's order: a loop's init comes before its range.
    const children =
      expr.kind === "comprehension"
        ? [expr.init, expr.range, expr.condition, expr.step, expr.result]
        : checked.partsOf(expr);
    for (const child of children) {
      const found = find(child);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(checked.root);
}
