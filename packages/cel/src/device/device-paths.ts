import type { CheckedExpression } from "../check/checked-expression.ts";
import type { Expr } from "../syntax/ast.ts";

/** The maps of a device by domain and name. */
export type DomainMapName = "attributes" | "capacity";

/**
 * An access by a field or an index: `a.b`, `a["b"]`, `a.?b`, `a[?"b"]`. `key` is undefined if it is computed.
 */
export function member(expr: Expr): { readonly operand: Expr; readonly key: string | undefined } | undefined {
  if (expr.kind === "select") return { operand: expr.operand, key: expr.field };
  if (expr.kind !== "call" || !["_[_]", "_[?_]", "_?._"].includes(expr.name)) return undefined;
  const [operand, key] = expr.args;
  if (operand === undefined || key === undefined) return undefined;
  return { operand, key: key.kind === "literal" && typeof key.value === "string" ? key.value : undefined };
}

/** The map that the expression is: `device.attributes` or `device.capacity`. */
export function domainMap(checked: CheckedExpression, expr: Expr): DomainMapName | undefined {
  const field = member(expr);
  if (field === undefined || checked.globalOf(field.operand) !== "device") return undefined;
  if (field.operand.kind !== "identifier") return undefined;
  return field.key === "attributes" || field.key === "capacity" ? field.key : undefined;
}

export interface DomainAccess {
  readonly map: DomainMapName;
  /** Undefined if it is computed. */
  readonly domain: string | undefined;
}

/** The expression as the entry of a domain: `device.attributes["gpu.example.com"]`. */
export function domainAccess(checked: CheckedExpression, expr: Expr): DomainAccess | undefined {
  const entry = member(expr);
  if (entry === undefined) return undefined;
  const map = domainMap(checked, entry.operand);
  return map === undefined ? undefined : { map, domain: entry.key };
}

const identifier = /^[A-Za-z_]\w*$/;

/** CEL text: `device.attributes["gpu.example.com"].model` */
export function attributePath(map: DomainMapName, domain: string, name?: string): string {
  const path = `device.${map}[${JSON.stringify(domain)}]`;
  if (name === undefined) return path;
  return identifier.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/** The CEL text of a simple expression; `x` for any other. */
export function text(expr: Expr): string {
  const inner = member(expr);
  if (inner !== undefined && inner.key !== undefined) {
    const operand = text(inner.operand);
    return identifier.test(inner.key)
      ? `${operand}.${inner.key}`
      : `${operand}[${JSON.stringify(inner.key)}]`;
  }
  if (expr.kind === "identifier") return expr.name;
  if (expr.kind !== "literal") return "x";
  return typeof expr.value === "string" ? JSON.stringify(expr.value) : String(expr.value);
}
