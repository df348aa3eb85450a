// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/rbac/v1.ts";

export type * from "../../schema/generated/rbac/v1.ts";

/** Rights in all namespaces, on kinds without one and on URLs. */
export interface ClusterRole extends types.ClusterRole {}
/** Rights in all namespaces, on kinds without one and on URLs. */
export const ClusterRole: Kind<ClusterRole> = {"group":"rbac.authorization.k8s.io","version":"v1","kind":"ClusterRole","resource":"clusterroles","namespaced":false};

/** Gives the rights of a ClusterRole to subjects, everywhere. */
export interface ClusterRoleBinding extends types.ClusterRoleBinding {}
/** Gives the rights of a ClusterRole to subjects, everywhere. */
export const ClusterRoleBinding: Kind<ClusterRoleBinding> = {"group":"rbac.authorization.k8s.io","version":"v1","kind":"ClusterRoleBinding","resource":"clusterrolebindings","namespaced":false};

/** Rights in one namespace. */
export interface Role extends types.Role {}
/** Rights in one namespace. */
export const Role: Kind<Role> = {"group":"rbac.authorization.k8s.io","version":"v1","kind":"Role","resource":"roles","namespaced":true};

/** Gives the rights of a role to subjects, in one namespace. */
export interface RoleBinding extends types.RoleBinding {}
/** Gives the rights of a role to subjects, in one namespace. */
export const RoleBinding: Kind<RoleBinding> = {"group":"rbac.authorization.k8s.io","version":"v1","kind":"RoleBinding","resource":"rolebindings","namespaced":true};
