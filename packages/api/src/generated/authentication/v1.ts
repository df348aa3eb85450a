// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, Kind, NamespacedMeta, StoredMeta, Time } from "../../objects/object.ts";

export interface BoundObjectReference {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: string;
}

export interface SelfSubjectReview {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  status?: SelfSubjectReviewStatus;
}

export const SelfSubjectReview: Kind<SelfSubjectReview> = {"group":"authentication.k8s.io","version":"v1","kind":"SelfSubjectReview","resource":"selfsubjectreviews","namespaced":false};

export interface SelfSubjectReviewStatus {
  userInfo?: UserInfo;
}

export interface TokenRequest {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: TokenRequestSpec;
  status?: TokenRequestStatus;
}

export const TokenRequest: Kind<TokenRequest> = {"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest","resource":"tokenrequests","namespaced":true};

export interface TokenRequestSpec {
  audiences?: string[];
  expirationSeconds?: Int64;
  boundObjectRef?: BoundObjectReference;
  attestations?: Record<string, string[]>;
}

export interface TokenRequestStatus {
  token?: string;
  expirationTimestamp?: Time;
}

export interface TokenReview {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: TokenReviewSpec;
  status?: TokenReviewStatus;
}

export const TokenReview: Kind<TokenReview> = {"group":"authentication.k8s.io","version":"v1","kind":"TokenReview","resource":"tokenreviews","namespaced":false};

export interface TokenReviewSpec {
  token?: string;
  audiences?: string[];
}

export interface TokenReviewStatus {
  authenticated?: boolean;
  user?: UserInfo;
  audiences?: string[];
  error?: string;
}

export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}
