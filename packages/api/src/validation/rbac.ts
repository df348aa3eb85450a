import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding } from "../generated/rbac/v1.ts";
import { dnsSubdomain, pathSegment } from "../values/names.ts";
import { type FieldErrors, sameValue } from "./field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "./metadata.ts";
import { checkLabelSelector } from "./nodeselector.ts";

const group = "rbac.authorization.k8s.io";

/** One rule; only a ClusterRole's may be about URLs that are no resources. */
function checkRule(errors: FieldErrors, path: string, rule: PolicyRule, namespaced: boolean): void {
  const { apiGroups = [], resources = [], nonResourceURLs = [] } = rule;
  // A list without which a rule cannot be is read as null where it is missing.
  const verbs: readonly string[] = rule.verbs ?? [];
  if (verbs.length === 0) errors.required(`${path}.verbs`, "verbs must contain at least one value");
  if (nonResourceURLs.length > 0) {
    if (namespaced) {
      const detail = "namespaced rules cannot apply to non-resource URLs";
      errors.invalid(`${path}.nonResourceURLs`, nonResourceURLs, detail);
    }
    if (apiGroups.length + resources.length + (rule.resourceNames ?? []).length > 0) {
      const detail = "rules cannot apply to both regular resources and non-resource URLs";
      errors.invalid(`${path}.nonResourceURLs`, nonResourceURLs, detail);
    }
    return;
  }
  if (apiGroups.length === 0) {
    errors.required(`${path}.apiGroups`, "resource rules must supply at least one api group");
  }
  if (resources.length === 0) {
    errors.required(`${path}.resources`, "resource rules must supply at least one resource");
  }
}

function checkRules(errors: FieldErrors, role: Role | ClusterRole, namespaced: boolean): void {
  (role.rules ?? []).forEach((rule, index) => {
    checkRule(errors, `rules[${index}]`, rule, namespaced);
  });
  if (namespaced || !("aggregationRule" in role) || !role.aggregationRule) return;
  const selectors = role.aggregationRule.clusterRoleSelectors ?? [];
  const path = "aggregationRule.clusterRoleSelectors";
  if (selectors.length === 0)
    errors.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil");
  selectors.forEach((selector, index) => {
    const count = errors.list.length;
    checkLabelSelector(errors, `${path}[${index}]`, selector);
    if (errors.list.length > count) errors.invalid(`${path}[${index}]`, null, "invalid label selector.");
  });
}

/** Since 1.37 bindings have declared rules. Their errors come after all others. */
const isDeclared = (errors: FieldErrors): boolean => errors.release >= "1.37";

type Binding = RoleBinding | ClusterRoleBinding;

function checkDeclared(errors: FieldErrors, { subjects, roleRef }: Binding, old: Binding | undefined): void {
  if (old !== undefined) checkRoleKept(errors, roleRef, old, "field is immutable");
  for (const [index, { name }] of (subjects ?? []).entries()) {
    if (!name) errors.required(`subjects[${index}].name`);
  }
  if (old === undefined && !roleRef?.name) errors.required("roleRef.name");
}

function checkRoleKept(
  errors: FieldErrors,
  roleRef: Binding["roleRef"] | undefined,
  old: Binding,
  detail: string,
): void {
  if (sameValue(roleRef, old.roleRef)) return;
  const { apiGroup = "", kind = "", name = "" } = roleRef ?? {};
  errors.invalid("roleRef", { APIGroup: apiGroup, Kind: kind, Name: name }, detail);
}

function checkSubjects(errors: FieldErrors, { subjects }: Binding, namespaced: boolean): void {
  (subjects ?? []).forEach((subject, index) => {
    const path = `subjects[${index}]`;
    const { kind = "", name, namespace, apiGroup = "" } = subject;
    if (!name && !isDeclared(errors)) errors.required(`${path}.name`);
    if (kind === "ServiceAccount") {
      if (name) errors.check(dnsSubdomain, `${path}.name`, name);
      if (apiGroup !== "") errors.notSupported(`${path}.apiGroup`, apiGroup, [""]);
      if (!namespace && !namespaced) errors.required(`${path}.namespace`);
    } else if (kind === "User" || kind === "Group") {
      if (apiGroup !== group) errors.notSupported(`${path}.apiGroup`, apiGroup, [group]);
    } else errors.notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"]);
  });
}

function checkRoleRef(
  errors: FieldErrors,
  { roleRef }: Binding,
  namespaced: boolean,
  old: Binding | undefined,
): void {
  const { apiGroup = "", kind = "", name = "" } = roleRef ?? {};
  if (apiGroup !== group) errors.notSupported("roleRef.apiGroup", apiGroup, [group]);
  const kinds = namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  if (!kinds.includes(kind)) errors.notSupported("roleRef.kind", kind, kinds);
  if (name !== "") errors.check(pathSegment, "roleRef.name", name);
  // What is declared immutable is looked at no further by the declared rules.
  else if (old !== undefined || !isDeclared(errors)) errors.required("roleRef.name");
}

/** Checks of a role, or of a binding: names may hold anything that a path can. */
export function checkRole(namespaced: boolean) {
  return {
    create(errors: FieldErrors, role: Role | ClusterRole): void {
      checkMetadata(errors, "metadata", role.metadata, pathSegment, namespaced);
      checkFinalizerNames(errors, "metadata", role.metadata);
      checkRules(errors, role, namespaced);
    },
    update(errors: FieldErrors, role: Role | ClusterRole, old: Role | ClusterRole): void {
      this.create(errors, role);
      checkMetadataUpdate(errors, "metadata", role.metadata, old.metadata);
      checkFinalizerNames(errors, "metadata", role.metadata);
    },
  };
}

export function checkBinding(namespaced: boolean) {
  const checkAll = (errors: FieldErrors, binding: Binding, old?: Binding): void => {
    checkMetadata(errors, "metadata", binding.metadata, pathSegment, namespaced);
    checkFinalizerNames(errors, "metadata", binding.metadata);
    checkRoleRef(errors, binding, namespaced, old);
    checkSubjects(errors, binding, namespaced);
    if (old !== undefined) {
      checkMetadataUpdate(errors, "metadata", binding.metadata, old.metadata);
      checkFinalizerNames(errors, "metadata", binding.metadata);
    }
    if (isDeclared(errors)) checkDeclared(errors, binding, old);
    else if (old !== undefined) checkRoleKept(errors, binding.roleRef, old, "cannot change roleRef");
  };
  return {
    create(errors: FieldErrors, binding: Binding): void {
      checkAll(errors, binding);
    },
    update(errors: FieldErrors, binding: Binding, old: Binding): void {
      checkAll(errors, binding, old);
    },
  };
}
