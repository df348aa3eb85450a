import { type KubeObject, quoted, StatusError } from "@dray/api";
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding } from "@dray/api/rbac/v1";
import { resourceAttributes } from "../authorization/attributes.ts";
import { compactText, uncovered } from "../authorization/rules.ts";
import { forbidden, notFound } from "../errors/status.ts";
import { deepEqual } from "../storage/json.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

const group = "rbac.authorization.k8s.io";

/**
 * Prevents privilege escalation: a user who writes a role must hold its rules or have the verb `escalate`, a
 * user who writes a binding must hold the rules of its role or have the verb `bind`.
 */
export function rbacEscalation(context: AdmissionContext): AdmissionPlugin {
  const may = (request: AdmissionRequest, verb: string, resource: string, name: string): boolean =>
    context.authorize(
      resourceAttributes({ user: request.user, verb, group, resource, namespace: request.namespace, name }),
    ).allowed;
  const check = (request: AdmissionRequest, rules: readonly PolicyRule[]): void => {
    const missing = uncovered(context.rbac.rulesFor(request.user, request.namespace), rules);
    if (missing.length === 0) return;
    const groups = `[${request.user.groups.map((name) => quoted(name)).join(" ")}]`;
    throw forbidden(
      request.served,
      request.objectName,
      `user ${quoted(request.user.name)} (groups=${groups}) is attempting to grant RBAC permissions not currently held:\n${compactText(missing)}`,
    );
  };
  const all: PolicyRule = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  const everything: readonly PolicyRule[] = [all, { verbs: ["*"], nonResourceURLs: ["*"] }];
  return {
    mutate(request) {
      const { served, object, old, user } = request;
      if (served.group !== group || !object || request.subresource !== "") return;
      if (user.groups.includes("system:masters")) return;
      if (served.resource === "roles" || served.resource === "clusterroles") {
        // The URL of a POST has no name, so a right for one name does not apply.
        const name = request.verb === "create" ? "" : request.name;
        if (isOnlyForCollection(object, old) || may(request, "escalate", served.resource, name)) return;
        check(request, (object as Role | ClusterRole).rules ?? []);
        // An aggregation rule may select any role, and the aggregated rules stay when it is removed.
        if (!isAggregated(object) && !isAggregated(old)) return;
        if (uncovered(context.rbac.rulesFor(user, ""), everything).length === 0) return;
        throw forbidden(
          served,
          request.name,
          "must have cluster-admin privileges to use the aggregationRule",
        );
      }
      if (served.resource !== "rolebindings" && served.resource !== "clusterrolebindings") return;
      const binding = object as RoleBinding | ClusterRoleBinding;
      if (isOnlyForCollection(object, old)) return;
      const resource = binding.roleRef.kind === "ClusterRole" ? "clusterroles" : "roles";
      if (may(request, "bind", resource, binding.roleRef.name)) return;
      if (resource === "roles" && request.namespace === "")
        throw StatusError.of("BadRequest", "Namespace parameter required.");
      const rules = context.rbac.rulesOfRef(binding.roleRef, request.namespace);
      if (rules === undefined) throw notFound(served, binding.roleRef.name);
      check(request, rules);
    },
  };
}

/**
 * Reports whether an update changes only metadata for the garbage collector. Labels count as a change: they
 * select the roles into which a role is aggregated.
 */
function isOnlyForCollection(object: KubeObject, old: KubeObject | undefined): boolean {
  if (old === undefined) return false;
  const rest = ({ metadata, ...others }: KubeObject): object => {
    const { ownerReferences: _, finalizers: _finalizers, managedFields: _fields, ...kept } = metadata;
    return { ...others, metadata: kept };
  };
  return deepEqual(rest(object), rest(old));
}

function isAggregated(role: KubeObject | undefined): boolean {
  const selectors = (role as ClusterRole | undefined)?.aggregationRule?.clusterRoleSelectors ?? [];
  return selectors.length > 0;
}
