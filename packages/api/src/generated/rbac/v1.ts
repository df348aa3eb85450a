// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, NamespacedMeta, StoredMeta } from "../../objects/object.ts";
import type { LabelSelector, ListMeta } from "../meta/v1.ts";

export interface AggregationRule {
  clusterRoleSelectors?: LabelSelector[];
}

export interface ClusterRole {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  rules?: PolicyRule[];
  aggregationRule?: AggregationRule;
}

export const ClusterRole: Kind<ClusterRole> = {"group":"rbac.authorization.k8s.io","version":"v1","kind":"ClusterRole","resource":"clusterroles","namespaced":false};

export interface ClusterRoleBinding {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  subjects?: Subject[];
  roleRef: RoleRef;
}

export const ClusterRoleBinding: Kind<ClusterRoleBinding> = {"group":"rbac.authorization.k8s.io","version":"v1","kind":"ClusterRoleBinding","resource":"clusterrolebindings","namespaced":false};

export interface ClusterRoleBindingList {
  metadata?: ListMeta;
  items: ClusterRoleBinding[];
}

export interface ClusterRoleList {
  metadata?: ListMeta;
  items: ClusterRole[];
}

export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface Role {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  rules?: PolicyRule[];
}

export const Role: Kind<Role> = {"group":"rbac.authorization.k8s.io","version":"v1","kind":"Role","resource":"roles","namespaced":true};

export interface RoleBinding {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  subjects?: Subject[];
  roleRef: RoleRef;
}

export const RoleBinding: Kind<RoleBinding> = {"group":"rbac.authorization.k8s.io","version":"v1","kind":"RoleBinding","resource":"rolebindings","namespaced":true};

export interface RoleBindingList {
  metadata?: ListMeta;
  items: RoleBinding[];
}

export interface RoleList {
  metadata?: ListMeta;
  items: Role[];
}

export interface RoleRef {
  apiGroup?: string;
  kind: string;
  name: string;
}

export interface Subject {
  kind: string;
  apiGroup?: string;
  name: string;
  namespace?: string;
}
