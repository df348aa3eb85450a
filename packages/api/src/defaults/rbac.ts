import type { ClusterRoleBinding, RoleBinding } from "../generated/rbac/v1.ts";

const group = "rbac.authorization.k8s.io";

/** Bindings name roles, users and groups of the RBAC group; a service account is of the core group. */
export function defaultRoleBinding(binding: RoleBinding | ClusterRoleBinding): void {
  binding.roleRef ??= { apiGroup: group, kind: "", name: "" };
  binding.roleRef.apiGroup ||= group;
  for (const subject of binding.subjects ?? []) {
    if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= group;
  }
}
