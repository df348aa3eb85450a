// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/authentication/v1.ts";

export type * from "../../schema/generated/authentication/v1.ts";

export interface SelfSubjectReview extends types.SelfSubjectReview {}
export const SelfSubjectReview: Kind<SelfSubjectReview> = {"group":"authentication.k8s.io","version":"v1","kind":"SelfSubjectReview","resource":"selfsubjectreviews","namespaced":false};

export interface TokenRequest extends types.TokenRequest {}
export const TokenRequest: Kind<TokenRequest> = {"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest","resource":"tokenrequests","namespaced":true};

export interface TokenReview extends types.TokenReview {}
export const TokenReview: Kind<TokenReview> = {"group":"authentication.k8s.io","version":"v1","kind":"TokenReview","resource":"tokenreviews","namespaced":false};
