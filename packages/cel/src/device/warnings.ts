import { type Expr, walk } from "../syntax/ast.ts";
import { nearlySame } from "./hints.ts";
import { attributePath, domainAccess, domainMap, member, text } from "./paths.ts";

/**
 * What compiles and cannot have been meant, one sentence each: upstream takes a domain that no device has for an empty
 * map, and looks at attributes only when it runs.
 */
export function selectorWarnings(expr: Expr): readonly string[] {
  const warnings = new Set<string>();
  const domains = new Set<string>();
  const drivers = new Set<string>();
  /** What longer paths go through. */
  const inner = new Set<Expr>();
  for (const node of walk(expr)) {
    const access = domainAccess(node);
    if (access?.domain !== undefined) {
      domains.add(access.domain);
      for (const warning of aboutDomain(node, access.domain)) warnings.add(warning);
    }
    if (!inner.has(node)) for (const warning of aboutName(node, inner)) warnings.add(warning);
    if (node.kind === "call") {
      for (const warning of aboutCall(node)) warnings.add(warning);
      const driver = comparedDriver(node);
      if (driver !== undefined) drivers.add(driver);
    }
  }
  for (const driver of drivers) {
    if (domains.has(driver)) continue;
    for (const domain of domains) {
      if (nearlySame(domain, driver)) {
        warnings.add(`the domain "${domain}" is not the driver "${driver}": is it a slip of the pen?`);
      }
    }
  }
  return [...warnings];
}

function* aboutDomain(node: Expr, domain: string): Iterable<string> {
  const { map } = domainAccess(node)!;
  const slash = domain.indexOf("/");
  if (slash >= 0) {
    const path = attributePath(map, domain.slice(0, slash), domain.slice(slash + 1));
    yield `no domain has a slash, so that \`${attributePath(map, domain)}\` is always empty: the map is by domain first, write \`${path}\``;
  }
  if (node.kind === "select" && node.testOnly) {
    yield `\`has(device.${map}.${domain})\` is always true, as a domain that is not there is an empty map: write \`"${domain}" in device.${map}\``;
  }
}

/** Names in a domain, and what is asked of an attribute. */
function* aboutName(path: Expr, inner: Set<Expr>): Iterable<string> {
  const keys: string[] = [];
  let node = path;
  let step = member(node);
  while (step?.key !== undefined && domainAccess(node) === undefined) {
    keys.unshift(step.key);
    node = step.operand;
    inner.add(node);
    step = member(node);
  }
  const access = domainAccess(node);
  const [name, field] = keys;
  if (access?.domain === undefined || name === undefined) return;
  if (name.includes("/")) {
    const bare = name.slice(name.indexOf("/") + 1);
    yield `no name has a slash: write \`${attributePath(access.map, access.domain, bare)}\``;
  }
  if (field === undefined || access.map !== "attributes") return;
  if (access.domain.includes(".")) yield `an attribute has no fields, so that \`.${field}\` finds nothing`;
  else {
    const domain = [access.domain, ...keys.slice(0, -1)].join(".");
    yield `a domain with dots stands in brackets: write \`${attributePath("attributes", domain, keys.at(-1))}\``;
  }
}

const orders: Readonly<Record<string, string>> = { "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=" };

function* aboutCall(call: Expr & { kind: "call" }): Iterable<string> {
  const [left, right] = call.args;
  if (left === undefined || right === undefined) return;
  if (call.name === "@in" && left.kind === "literal" && typeof left.value === "string") {
    const map = domainMap(right);
    const slash = left.value.indexOf("/");
    if (map === undefined || slash < 0) return;
    const name = JSON.stringify(left.value.slice(slash + 1));
    yield `no domain has a slash: write \`${name} in ${attributePath(map, left.value.slice(0, slash))}\``;
  }
  const order = orders[call.name];
  const value = right.kind === "literal" ? right.value : undefined;
  if (order === undefined || typeof value !== "string" || !isAttribute(left)) return;
  if (/^v?\d+(\.\d+)+/.test(value)) {
    yield `\`${order}\` orders texts and no versions: write \`${text(left)}.compareTo(semver("${value}")) ${order} 0\``;
  } else if (/^-?\d+(\.\d+)?([KMGTPE]i?|[mk])?$/.test(value)) {
    yield `\`${order}\` orders texts and no numbers: write the number without quotes`;
  }
}

function isAttribute(expr: Expr): boolean {
  const inner = member(expr);
  return inner !== undefined && domainAccess(inner.operand)?.map === "attributes";
}

/** The driver that `device.driver == "…"` asks for. */
function comparedDriver(call: Expr & { kind: "call" }): string | undefined {
  if (call.name !== "_==_") return undefined;
  const [left, right] = call.args;
  const isDriver = (expr: Expr | undefined): boolean => expr !== undefined && text(expr) === "device.driver";
  const other = isDriver(left) ? right : isDriver(right) ? left : undefined;
  return other?.kind === "literal" && typeof other.value === "string" ? other.value : undefined;
}
