import type { CheckedExpression } from "../check/checked-expression.ts";
import type { Call, Expr } from "../syntax/ast.ts";
import { attributePath, type DomainMapName, domainAccess, domainMap, member, text } from "./device-paths.ts";
import { isSimilar } from "./similar-names.ts";

/**
 * Warns about valid but probably mistaken code, one sentence each. Upstream has no warnings: a domain that no
 * device has is an empty map, and attributes are looked up only at run time.
 */
export function selectorWarnings(checked: CheckedExpression): readonly string[] {
  const warnings = new Set<string>();
  const domains = new Set<string>();
  const drivers = new Set<string>();
  /** Parts of longer paths. */
  const inner = new Set<Expr>();
  for (const node of checked.nodes()) {
    const access = domainAccess(checked, node);
    if (access?.domain !== undefined) {
      domains.add(access.domain);
      for (const warning of domainWarnings(node, access.map, access.domain)) warnings.add(warning);
    }
    if (!inner.has(node)) for (const warning of nameWarnings(checked, node, inner)) warnings.add(warning);
    if (node.kind === "call") {
      for (const warning of callWarnings(checked, node)) warnings.add(warning);
      const driver = comparedDriver(node);
      if (driver !== undefined) drivers.add(driver);
    }
  }
  for (const driver of drivers) {
    if (domains.has(driver)) continue;
    for (const domain of domains) {
      if (isSimilar(domain, driver)) {
        warnings.add(`the domain "${domain}" is not the driver "${driver}": is this a typo?`);
      }
    }
  }
  return [...warnings];
}

function* domainWarnings(node: Expr, map: DomainMapName, domain: string): Iterable<string> {
  const slash = domain.indexOf("/");
  if (slash >= 0) {
    const path = attributePath(map, domain.slice(0, slash), domain.slice(slash + 1));
    yield `a domain has no slash, so that \`${attributePath(map, domain)}\` is always empty: the map is by domain first, write \`${path}\``;
  }
  if (node.kind === "select" && node.testOnly) {
    yield `\`has(device.${map}.${domain})\` is always true, as a missing domain is an empty map: write \`"${domain}" in device.${map}\``;
  }
}

/** Warns about names in a domain, and about fields of attributes. Adds the parts of the path to `inner`. */
function* nameWarnings(checked: CheckedExpression, path: Expr, inner: Set<Expr>): Iterable<string> {
  const keys: string[] = [];
  let node = path;
  let step = member(node);
  while (step?.key !== undefined && domainAccess(checked, node) === undefined) {
    keys.unshift(step.key);
    node = step.operand;
    inner.add(node);
    step = member(node);
  }
  const access = domainAccess(checked, node);
  const [name, field] = keys;
  if (access?.domain === undefined || name === undefined) return;
  if (name.includes("/")) {
    const bare = name.slice(name.indexOf("/") + 1);
    yield `a name has no slash: write \`${attributePath(access.map, access.domain, bare)}\``;
  }
  if (field === undefined || access.map !== "attributes") return;
  if (access.domain.includes(".")) yield `an attribute has no fields, so that \`.${field}\` finds nothing`;
  else {
    const domain = [access.domain, ...keys.slice(0, -1)].join(".");
    yield `a domain with dots needs brackets: write \`${attributePath("attributes", domain, keys.at(-1))}\``;
  }
}

const comparisons: Readonly<Record<string, string>> = { "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=" };

function* callWarnings(checked: CheckedExpression, call: Call): Iterable<string> {
  const [left, right] = call.args;
  if (left === undefined || right === undefined) return;
  if (call.name === "@in" && left.kind === "literal" && typeof left.value === "string") {
    const map = domainMap(checked, right);
    const slash = left.value.indexOf("/");
    if (map === undefined || slash < 0) return;
    const name = JSON.stringify(left.value.slice(slash + 1));
    yield `a domain has no slash: write \`${name} in ${attributePath(map, left.value.slice(0, slash))}\``;
  }
  const comparison = comparisons[call.name];
  const value = right.kind === "literal" ? right.value : undefined;
  if (comparison === undefined || typeof value !== "string" || !isAttribute(checked, left)) return;
  if (/^v?\d+(\.\d+)+/.test(value)) {
    yield `\`${comparison}\` compares strings, not versions: write \`${text(left)}.compareTo(semver("${value}")) ${comparison} 0\``;
  } else if (/^-?\d+(\.\d+)?([KMGTPE]i?|[mk])?$/.test(value)) {
    yield `\`${comparison}\` compares strings, not numbers: write the number without quotes`;
  }
}

function isAttribute(checked: CheckedExpression, expr: Expr): boolean {
  const inner = member(expr);
  return inner !== undefined && domainAccess(checked, inner.operand)?.map === "attributes";
}

/** The driver in `device.driver == "…"`. */
function comparedDriver(call: Call): string | undefined {
  if (call.name !== "_==_") return undefined;
  const [left, right] = call.args;
  const isDriver = (expr: Expr | undefined): boolean => expr !== undefined && text(expr) === "device.driver";
  const other = isDriver(left) ? right : isDriver(right) ? left : undefined;
  return other?.kind === "literal" && typeof other.value === "string" ? other.value : undefined;
}
