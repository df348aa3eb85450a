// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { NamespacedMeta, StoredMeta } from "../../../objects/object.ts";
import type { LabelSelector, ListMeta } from "../meta/v1.ts";

/** Roles whose rules are put together. */
export interface AggregationRule {
  /** Select ClusterRoles by label. */
  clusterRoleSelectors?: LabelSelector[];
}

/** Rights in all namespaces, on kinds without one and on URLs. */
export interface ClusterRole {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** The rights. */
  rules?: PolicyRule[];
  /** Roles whose rules are put together here by a controller. */
  aggregationRule?: AggregationRule;
}

/** Gives the rights of a ClusterRole to subjects, everywhere. */
export interface ClusterRoleBinding {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Subjects that get the rights. */
  subjects?: Subject[];
  /** The ClusterRole. Cannot change. */
  roleRef: RoleRef;
}

export interface ClusterRoleBindingList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ClusterRoleBinding[];
}

export interface ClusterRoleList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ClusterRole[];
}

/** Verbs that are allowed on resources or URLs. */
export interface PolicyRule {
  /** get, list, watch, create, update, patch, delete, deletecollection and others; * for all. */
  verbs: string[];
  /** Groups of the resources; "" for core, * for all. */
  apiGroups?: string[];
  /** Resources, such as pods or pods/log; * for all. */
  resources?: string[];
  /** Names of objects. Empty: all. */
  resourceNames?: string[];
  /** URLs such as /healthz or /logs/*. Only in ClusterRoles. */
  nonResourceURLs?: string[];
}

/** Rights in one namespace. */
export interface Role {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** The rights. */
  rules?: PolicyRule[];
}

/** Gives the rights of a role to subjects, in one namespace. */
export interface RoleBinding {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Subjects that get the rights. */
  subjects?: Subject[];
  /** A Role of the namespace, or a ClusterRole. Cannot change. */
  roleRef: RoleRef;
}

export interface RoleBindingList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: RoleBinding[];
}

export interface RoleList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Role[];
}

/** A role. */
export interface RoleRef {
  /** rbac.authorization.k8s.io. */
  apiGroup?: string;
  /** Role or ClusterRole. */
  kind: string;
  /** Name of the role. */
  name: string;
}

/** A user, group or service account. */
export interface Subject {
  /** User, Group or ServiceAccount. */
  kind: string;
  /** rbac.authorization.k8s.io for users and groups; empty for service accounts. */
  apiGroup?: string;
  /** The name. */
  name: string;
  /** Namespace of a service account. */
  namespace?: string;
}
