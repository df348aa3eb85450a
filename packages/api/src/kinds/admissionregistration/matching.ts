import type { AdmissionExpressions } from "../../checks/context.ts";
import type { FieldErrors } from "../../checks/field.ts";
import { checkLabelSelector } from "../../checks/nodeselector.ts";
import type {
  MatchCondition,
  MatchResources,
  NamedRuleWithOperations,
  RuleWithOperations,
} from "../../generated/admissionregistration/v1.ts";
import { pathSegment, qualifiedName } from "../../values/names.ts";

export const matchPolicies = ["Equivalent", "Exact"];
const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];
const maxConditions = 64;

/** Which requests a policy or one of its bindings is about. */
export function checkMatchResources(errors: FieldErrors, match: MatchResources | undefined): void {
  if (match === undefined) return;
  if (match.matchPolicy === undefined) errors.at("matchPolicy").required();
  else if (!matchPolicies.includes(match.matchPolicy))
    errors.at("matchPolicy").notSupported(match.matchPolicy, matchPolicies);
  for (const name of ["namespaceSelector", "objectSelector"] as const) {
    const selector = match[name];
    if (selector === undefined) errors.at(name).required();
    else checkLabelSelector(errors.at(name), selector);
  }
  for (const name of ["resourceRules", "excludeResourceRules"] as const) {
    (match[name] ?? []).forEach((rule, i) => {
      checkNamedRule(errors.at(name).index(i), rule);
    });
  }
}

function checkNamedRule(errors: FieldErrors, rule: NamedRuleWithOperations): void {
  const seen = new Set<string>();
  (rule.resourceNames ?? []).forEach((name, i) => {
    errors.at("resourceNames").index(i).check(pathSegment, name);
    if (seen.has(name)) errors.at("resourceNames").index(i).duplicate(name);
    seen.add(name);
  });
  checkRule(errors, rule);
}

/** A rule of a webhook, or what a rule of a policy has in common with it. */
export function checkRule(errors: FieldErrors, rule: RuleWithOperations): void {
  checkWildcard(errors.at("operations"), rule.operations, "operations");
  (rule.operations ?? []).forEach((operation, i) => {
    if (!operations.includes(operation)) errors.at("operations").index(i).notSupported(operation, operations);
  });
  checkWildcard(errors.at("apiGroups"), rule.apiGroups, "API groups");
  checkWildcard(errors.at("apiVersions"), rule.apiVersions, "API versions");
  (rule.apiVersions ?? []).forEach((version, i) => {
    if (version === "") errors.at("apiVersions").index(i).required();
  });
  checkResources(errors.at("resources"), rule.resources ?? []);
  if (rule.scope !== undefined && !scopes.includes(rule.scope))
    errors.at("scope").notSupported(rule.scope, scopes);
}

function checkWildcard(errors: FieldErrors, items: readonly string[] | undefined, what: string): void {
  if (!items?.length) errors.required();
  else if (items.length > 1 && items.includes("*"))
    errors.invalid(items, `if '*' is present, must not specify other ${what}`);
}

/**
 * `pods`, `pods/status`, `pods/*`, `*`, `*` with a subresource: what a wildcard holds must not be named
 * beside it.
 */
function checkResources(errors: FieldErrors, resources: readonly string[]): void {
  if (resources.length === 0) errors.required();
  const allSubresources = new Set<string>();
  const ofAllResources = new Set<string>();
  // As upstream it is the last one without a subresource that counts.
  let plain = false;
  resources.forEach((pattern, i) => {
    if (pattern === "") {
      errors.index(i).required();
      return;
    }
    const slash = pattern.indexOf("/");
    if (slash < 0) {
      plain = pattern !== "*";
      return;
    }
    const [resource, subresource] = [pattern.slice(0, slash), pattern.slice(slash + 1)];
    const clash = (wildcard: string): void =>
      errors.index(i).invalid(pattern, `if '${wildcard}' is present, must not specify ${pattern}`);
    if (allSubresources.has(resource)) clash(`${resource}/*`);
    if (ofAllResources.has(subresource)) clash(`*/${subresource}`);
    if (subresource === "*") allSubresources.add(resource);
    if (resource === "*") ofAllResources.add(subresource);
  });
  if (resources.length > 1 && resources.includes("*/*"))
    errors.invalid(resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes("*") && plain) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    errors.invalid(resources, detail);
  }
}

/** Match conditions of a policy or a webhook; `expressions` is absent where they cannot be compiled. */
export function checkMatchConditions(
  errors: FieldErrors,
  conditions: readonly MatchCondition[] | undefined,
  expressions: AdmissionExpressions | undefined,
  params: boolean,
): void {
  const list = conditions ?? [];
  const names = new Set<string>();
  if (list.length > maxConditions) errors.tooMany(list.length, maxConditions);
  list.forEach(({ name, expression }, i) => {
    const here = errors.index(i);
    const text = (expression ?? "").trim();
    if (text === "") here.at("expression").required();
    else {
      const compiled = expressions?.compile(text, { result: "bool", params, authorizer: true });
      checkCompiled(here.at("expression"), text, compiled);
    }
    if (!name) here.at("name").required();
    else {
      here.at("name").check(qualifiedName, name);
      if (names.has(name)) here.at("name").duplicate(name);
      names.add(name);
    }
  });
}

/** Adds what is wrong with an expression. */
export function checkCompiled(
  errors: FieldErrors,
  expression: string,
  compiled: ReturnType<AdmissionExpressions["compile"]> | undefined,
): void {
  if (compiled === undefined || compiled.ok) return;
  if (compiled.type === "InternalError") errors.internal(compiled.error);
  else errors.invalid(expression, compiled.error);
}
