import type { FieldErrors } from "../../checks/field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../checks/metadata.ts";
import { checkLabelSelector } from "../../checks/nodeselector.ts";
import type { ClusterRole, PolicyRule, Role } from "../../generated/rbac/v1.ts";
import { pathSegment } from "../../values/names.ts";

/** One rule; only a ClusterRole's may name URLs that are not resources. */
function checkRule(errors: FieldErrors, rule: PolicyRule, namespaced: boolean): void {
  const { apiGroups = [], resources = [], nonResourceURLs = [] } = rule;
  // A list without which a rule cannot be is read as null where it is missing.
  const verbs: readonly string[] = rule.verbs ?? [];
  if (verbs.length === 0) errors.at("verbs").required("verbs must contain at least one value");
  if (nonResourceURLs.length > 0) {
    if (namespaced) {
      const detail = "namespaced rules cannot apply to non-resource URLs";
      errors.at("nonResourceURLs").invalid(nonResourceURLs, detail);
    }
    if (apiGroups.length + resources.length + (rule.resourceNames ?? []).length > 0) {
      const detail = "rules cannot apply to both regular resources and non-resource URLs";
      errors.at("nonResourceURLs").invalid(nonResourceURLs, detail);
    }
    return;
  }
  if (apiGroups.length === 0) {
    errors.at("apiGroups").required("resource rules must supply at least one api group");
  }
  if (resources.length === 0) {
    errors.at("resources").required("resource rules must supply at least one resource");
  }
}

function checkRules(errors: FieldErrors, role: Role | ClusterRole, namespaced: boolean): void {
  (role.rules ?? []).forEach((rule, index) => {
    checkRule(errors.at("rules").index(index), rule, namespaced);
  });
  if (namespaced || !("aggregationRule" in role) || !role.aggregationRule) return;
  const selectors = role.aggregationRule.clusterRoleSelectors ?? [];
  const here = errors.at("aggregationRule.clusterRoleSelectors");
  if (selectors.length === 0)
    here.required("at least one clusterRoleSelector required if aggregationRule is non-nil");
  selectors.forEach((selector, index) => {
    const count = errors.list.length;
    checkLabelSelector(here.index(index), selector);
    if (errors.list.length > count) here.index(index).invalid(null, "invalid label selector.");
  });
}

/** Checks of a role, or of a binding: names may hold anything that a path can. */
export function checkRole(namespaced: boolean) {
  return {
    create(errors: FieldErrors, role: Role | ClusterRole): void {
      checkMetadata(errors.at("metadata"), role.metadata, pathSegment, namespaced);
      checkFinalizerNames(errors.at("metadata"), role.metadata);
      checkRules(errors, role, namespaced);
    },
    update(errors: FieldErrors, role: Role | ClusterRole, old: Role | ClusterRole): void {
      this.create(errors, role);
      checkMetadataUpdate(errors.at("metadata"), role.metadata, old.metadata);
      checkFinalizerNames(errors.at("metadata"), role.metadata);
    },
  };
}
