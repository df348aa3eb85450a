// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, NamespacedMeta, StoredMeta, Time } from "../../../objects/object.ts";

export interface BoundObjectReference {
  /** The kind of the object, in CamelCase. */
  kind?: string;
  /** APIVersion defines the group and version of this representation of the object, such as apps/v1. */
  apiVersion?: string;
  name?: string;
  uid?: string;
}

export interface SelfSubjectReview {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Last observed status. The system writes it. */
  status?: SelfSubjectReviewStatus;
}

export interface SelfSubjectReviewStatus {
  userInfo?: UserInfo;
}

export interface TokenRequest {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: TokenRequestSpec;
  /** Last observed status. The system writes it. */
  status?: TokenRequestStatus;
}

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
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Desired state. */
  spec: TokenReviewSpec;
  /** Last observed status. The system writes it. */
  status?: TokenReviewStatus;
}

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
