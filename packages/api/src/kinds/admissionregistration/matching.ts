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
export function checkMatchResources(
  errors: FieldErrors,
  path: string,
  match: MatchResources | undefined,
): void {
  if (match === undefined) return;
  if (match.matchPolicy === undefined) errors.required(`${path}.matchPolicy`);
  else if (!matchPolicies.includes(match.matchPolicy))
    errors.notSupported(`${path}.matchPolicy`, match.matchPolicy, matchPolicies);
  for (const name of ["namespaceSelector", "objectSelector"] as const) {
    const selector = match[name];
    if (selector === undefined) errors.required(`${path}.${name}`);
    else checkLabelSelector(errors, `${path}.${name}`, selector);
  }
  for (const name of ["resourceRules", "excludeResourceRules"] as const) {
    (match[name] ?? []).forEach((rule, i) => {
      checkNamedRule(errors, `${path}.${name}[${i}]`, rule);
    });
  }
}

function checkNamedRule(errors: FieldErrors, path: string, rule: NamedRuleWithOperations): void {
  const seen = new Set<string>();
  (rule.resourceNames ?? []).forEach((name, i) => {
    errors.check(pathSegment, `${path}.resourceNames[${i}]`, name);
    if (seen.has(name)) errors.duplicate(`${path}.resourceNames[${i}]`, name);
    seen.add(name);
  });
  checkRule(errors, path, rule);
}

/** A rule of a webhook, or what a rule of a policy has in common with it. */
export function checkRule(errors: FieldErrors, path: string, rule: RuleWithOperations): void {
  checkWildcard(errors, `${path}.operations`, rule.operations, "operations");
  (rule.operations ?? []).forEach((operation, i) => {
    if (!operations.includes(operation))
      errors.notSupported(`${path}.operations[${i}]`, operation, operations);
  });
  checkWildcard(errors, `${path}.apiGroups`, rule.apiGroups, "API groups");
  checkWildcard(errors, `${path}.apiVersions`, rule.apiVersions, "API versions");
  (rule.apiVersions ?? []).forEach((version, i) => {
    if (version === "") errors.required(`${path}.apiVersions[${i}]`);
  });
  checkResources(errors, `${path}.resources`, rule.resources ?? []);
  if (rule.scope !== undefined && !scopes.includes(rule.scope))
    errors.notSupported(`${path}.scope`, rule.scope, scopes);
}

function checkWildcard(
  errors: FieldErrors,
  path: string,
  items: readonly string[] | undefined,
  what: string,
): void {
  if (!items?.length) errors.required(path);
  else if (items.length > 1 && items.includes("*"))
    errors.invalid(path, items, `if '*' is present, must not specify other ${what}`);
}

/**
 * `pods`, `pods/status`, `pods/*`, `*`, `*` with a subresource: what a wildcard holds must not be named
 * beside it.
 */
function checkResources(errors: FieldErrors, path: string, resources: readonly string[]): void {
  if (resources.length === 0) errors.required(path);
  const allSubresources = new Set<string>();
  const ofAllResources = new Set<string>();
  // As upstream it is the last one without a subresource that counts.
  let plain = false;
  resources.forEach((pattern, i) => {
    if (pattern === "") {
      errors.required(`${path}[${i}]`);
      return;
    }
    const slash = pattern.indexOf("/");
    if (slash < 0) {
      plain = pattern !== "*";
      return;
    }
    const [resource, subresource] = [pattern.slice(0, slash), pattern.slice(slash + 1)];
    const clash = (wildcard: string): void =>
      errors.invalid(`${path}[${i}]`, pattern, `if '${wildcard}' is present, must not specify ${pattern}`);
    if (allSubresources.has(resource)) clash(`${resource}/*`);
    if (ofAllResources.has(subresource)) clash(`*/${subresource}`);
    if (subresource === "*") allSubresources.add(resource);
    if (resource === "*") ofAllResources.add(subresource);
  });
  if (resources.length > 1 && resources.includes("*/*"))
    errors.invalid(path, resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes("*") && plain) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    errors.invalid(path, resources, detail);
  }
}

/** Match conditions of a policy or a webhook; `expressions` is absent where they cannot be compiled. */
export function checkMatchConditions(
  errors: FieldErrors,
  path: string,
  conditions: readonly MatchCondition[] | undefined,
  expressions: AdmissionExpressions | undefined,
  params: boolean,
): void {
  const list = conditions ?? [];
  const names = new Set<string>();
  if (list.length > maxConditions) errors.tooMany(path, list.length, maxConditions);
  list.forEach(({ name, expression }, i) => {
    const at = `${path}[${i}]`;
    const text = (expression ?? "").trim();
    if (text === "") errors.required(`${at}.expression`);
    else {
      const compiled = expressions?.compile(text, { result: "bool", params, authorizer: true });
      checkCompiled(errors, `${at}.expression`, text, compiled);
    }
    if (!name) errors.required(`${at}.name`);
    else {
      errors.check(qualifiedName, `${at}.name`, name);
      if (names.has(name)) errors.duplicate(`${at}.name`, name);
      names.add(name);
    }
  });
}

/** Adds what is wrong with an expression. */
export function checkCompiled(
  errors: FieldErrors,
  path: string,
  expression: string,
  compiled: ReturnType<AdmissionExpressions["compile"]> | undefined,
): void {
  if (compiled === undefined || compiled.ok) return;
  if (compiled.type === "InternalError") errors.internal(path, compiled.error);
  else errors.invalid(path, expression, compiled.error);
}
