import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding } from "@dray/api/rbac/v1";
import { resourceAttributes } from "../authorization/attributes.ts";
import { compactText, uncovered } from "../authorization/rules.ts";
import { forbidden, notFound } from "../response.ts";
import { deepEqual } from "../storage/json.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AdmissionContext } from "./plugins.ts";

const group = "rbac.authorization.k8s.io";

/**
 * Nobody gives away rights that they do not have: who writes a role must hold its rules (or may `escalate`), who
 * writes a binding must hold those of its role (or may `bind`).
 */
export function rbacEscalation(context: AdmissionContext): AdmissionPlugin {
  const may = (request: AdmissionRequest, verb: string, resource: string, name: string): boolean =>
    context.authorize(
      resourceAttributes({ user: request.user, verb, group, resource, namespace: request.namespace, name }),
    ).allowed;
  const check = (request: AdmissionRequest, rules: readonly PolicyRule[]): void => {
    const missing = uncovered(context.rbac.rulesFor(request.user, request.namespace), rules);
    if (missing.length === 0) return;
    const groups = `[${request.user.groups.map((name) => JSON.stringify(name)).join(" ")}]`;
    throw forbidden(
      request.served,
      request.name,
      `user ${JSON.stringify(request.user.name)} (groups=${groups}) is attempting to grant RBAC permissions not currently held:\n${compactText(missing)}`,
    );
  };
  return {
    name: "RBACEscalation",
    mutate(request) {
      const { served, object, old, user } = request;
      if (served.group !== group || !object || request.subresource !== "") return;
      if (user.groups.includes("system:masters")) return;
      if (served.resource === "roles" || served.resource === "clusterroles") {
        const role = object as Role | ClusterRole;
        const before = old as Role | ClusterRole | undefined;
        const aggregates =
          served.resource === "clusterroles" && "aggregationRule" in role && role.aggregationRule;
        const unchanged =
          before !== undefined &&
          deepEqual(role.rules ?? [], before.rules ?? []) &&
          deepEqual((role as ClusterRole).aggregationRule, (before as ClusterRole).aggregationRule);
        if (unchanged || may(request, "escalate", served.resource, request.name)) return;
        check(request, role.rules ?? []);
        if (aggregates) check(request, [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }]);
        return;
      }
      if (served.resource !== "rolebindings" && served.resource !== "clusterrolebindings") return;
      const binding = object as RoleBinding | ClusterRoleBinding;
      const before = old as typeof binding | undefined;
      if (
        before &&
        deepEqual(binding.roleRef, before.roleRef) &&
        deepEqual(binding.subjects, before.subjects)
      )
        return;
      const resource = binding.roleRef.kind === "ClusterRole" ? "clusterroles" : "roles";
      if (may(request, "bind", resource, binding.roleRef.name)) return;
      const rules = context.rbac.rulesOfRef(binding.roleRef, request.namespace);
      if (rules === undefined) throw notFound(served, binding.roleRef.name);
      check(request, rules);
    },
  };
}
