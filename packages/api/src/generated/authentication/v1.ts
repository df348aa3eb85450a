// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/authentication/v1.ts";

export type * from "../../schema/generated/authentication/v1.ts";

export type SelfSubjectReview = types.SelfSubjectReview;
export const SelfSubjectReview: Kind<SelfSubjectReview> = {"group":"authentication.k8s.io","version":"v1","kind":"SelfSubjectReview","resource":"selfsubjectreviews","namespaced":false};

export type TokenRequest = types.TokenRequest;
export const TokenRequest: Kind<TokenRequest> = {"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest","resource":"tokenrequests","namespaced":true};

export type TokenReview = types.TokenReview;
export const TokenReview: Kind<TokenReview> = {"group":"authentication.k8s.io","version":"v1","kind":"TokenReview","resource":"tokenreviews","namespaced":false};
