import type { Expr } from "../syntax/ast.ts";

/** The maps of a device, by domain and then by name. */
export type NamedMap = "attributes" | "capacity";

/** What a field, or an index that is a constant text, leads to: `a.b`, `a["b"]`, `a.?b`, `a[?"b"]`. */
export function member(expr: Expr): { readonly operand: Expr; readonly key: string | undefined } | undefined {
  if (expr.kind === "select") return { operand: expr.operand, key: expr.field };
  if (expr.kind !== "call" || !["_[_]", "_[?_]", "_?._"].includes(expr.name)) return undefined;
  const [operand, key] = expr.args;
  if (operand === undefined || key === undefined) return undefined;
  return { operand, key: key.kind === "literal" && typeof key.value === "string" ? key.value : undefined };
}

/** Which map of the variable `device` the expression is. */
export function domainMap(expr: Expr): NamedMap | undefined {
  const field = member(expr);
  if (field?.operand.kind !== "identifier" || field.operand.global !== "device") return undefined;
  return field.key === "attributes" || field.key === "capacity" ? field.key : undefined;
}

/** The entry of one domain; the domain is undefined where it is computed. */
export function domainAccess(
  expr: Expr,
): { readonly map: NamedMap; readonly domain: string | undefined } | undefined {
  const entry = member(expr);
  const map = entry === undefined ? undefined : domainMap(entry.operand);
  return map === undefined ? undefined : { map, domain: entry!.key };
}

/** How to write it: `device.attributes["gpu.example.com"].model` */
export function attributePath(map: NamedMap, domain: string, name?: string): string {
  const path = `device.${map}[${JSON.stringify(domain)}]`;
  if (name === undefined) return path;
  return /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/** The expression as written, where it is a simple one. */
export function text(expr: Expr): string {
  const inner = member(expr);
  if (inner !== undefined && inner.key !== undefined) {
    const operand = text(inner.operand);
    return /^[A-Za-z_]\w*$/.test(inner.key)
      ? `${operand}.${inner.key}`
      : `${operand}[${JSON.stringify(inner.key)}]`;
  }
  if (expr.kind === "identifier") return expr.name;
  if (expr.kind !== "literal") return "x";
  return typeof expr.value === "string" ? JSON.stringify(expr.value) : String(expr.value);
}
