// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/authorization/v1.ts";

export type * from "../../schema/generated/authorization/v1.ts";

export interface LocalSubjectAccessReview extends types.LocalSubjectAccessReview {}
export const LocalSubjectAccessReview: Kind<LocalSubjectAccessReview> = {"group":"authorization.k8s.io","version":"v1","kind":"LocalSubjectAccessReview","resource":"localsubjectaccessreviews","namespaced":true};

export interface SelfSubjectAccessReview extends types.SelfSubjectAccessReview {}
export const SelfSubjectAccessReview: Kind<SelfSubjectAccessReview> = {"group":"authorization.k8s.io","version":"v1","kind":"SelfSubjectAccessReview","resource":"selfsubjectaccessreviews","namespaced":false};

export interface SelfSubjectRulesReview extends types.SelfSubjectRulesReview {}
export const SelfSubjectRulesReview: Kind<SelfSubjectRulesReview> = {"group":"authorization.k8s.io","version":"v1","kind":"SelfSubjectRulesReview","resource":"selfsubjectrulesreviews","namespaced":false};

export interface SubjectAccessReview extends types.SubjectAccessReview {}
export const SubjectAccessReview: Kind<SubjectAccessReview> = {"group":"authorization.k8s.io","version":"v1","kind":"SubjectAccessReview","resource":"subjectaccessreviews","namespaced":false};
