// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, NamespacedMeta, StoredMeta } from "../../objects/object.ts";
import type { FieldSelectorRequirement, LabelSelectorRequirement } from "../meta/v1.ts";

export interface FieldSelectorAttributes {
  rawSelector?: string;
  requirements?: FieldSelectorRequirement[];
}

export interface LabelSelectorAttributes {
  rawSelector?: string;
  requirements?: LabelSelectorRequirement[];
}

export interface LocalSubjectAccessReview {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export const LocalSubjectAccessReview: Kind<LocalSubjectAccessReview> = {"group":"authorization.k8s.io","version":"v1","kind":"LocalSubjectAccessReview","resource":"localsubjectaccessreviews","namespaced":true};

export interface NonResourceAttributes {
  path?: string;
  verb?: string;
}

export interface NonResourceRule {
  verbs: string[];
  nonResourceURLs?: string[];
}

export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: FieldSelectorAttributes;
  labelSelector?: LabelSelectorAttributes;
}

export interface ResourceRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

export interface SelfSubjectAccessReview {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: SelfSubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export const SelfSubjectAccessReview: Kind<SelfSubjectAccessReview> = {"group":"authorization.k8s.io","version":"v1","kind":"SelfSubjectAccessReview","resource":"selfsubjectaccessreviews","namespaced":false};

export interface SelfSubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

export interface SelfSubjectRulesReview {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: SelfSubjectRulesReviewSpec;
  status?: SubjectRulesReviewStatus;
}

export const SelfSubjectRulesReview: Kind<SelfSubjectRulesReview> = {"group":"authorization.k8s.io","version":"v1","kind":"SelfSubjectRulesReview","resource":"selfsubjectrulesreviews","namespaced":false};

export interface SelfSubjectRulesReviewSpec {
  namespace?: string;
}

export interface SubjectAccessReview {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export const SubjectAccessReview: Kind<SubjectAccessReview> = {"group":"authorization.k8s.io","version":"v1","kind":"SubjectAccessReview","resource":"subjectaccessreviews","namespaced":false};

export interface SubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
  user?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
  uid?: string;
}

export interface SubjectAccessReviewStatus {
  allowed: boolean;
  denied?: boolean;
  reason?: string;
  evaluationError?: string;
}

export interface SubjectRulesReviewStatus {
  resourceRules: ResourceRule[];
  nonResourceRules: NonResourceRule[];
  incomplete: boolean;
  evaluationError?: string;
}
