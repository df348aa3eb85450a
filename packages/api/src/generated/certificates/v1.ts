// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, NamespacedMeta, StoredMeta, Time } from "../../objects/object.ts";
import type { Condition, ListMeta } from "../meta/v1.ts";

export interface CertificateSigningRequest {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: CertificateSigningRequestSpec;
  status?: CertificateSigningRequestStatus;
}

export const CertificateSigningRequest: Kind<CertificateSigningRequest> = {"group":"certificates.k8s.io","version":"v1","kind":"CertificateSigningRequest","resource":"certificatesigningrequests","namespaced":false};

export interface CertificateSigningRequestCondition {
  type: string;
  status?: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: Time;
  lastTransitionTime?: Time;
}

export interface CertificateSigningRequestList {
  metadata?: ListMeta;
  items: CertificateSigningRequest[];
}

export interface CertificateSigningRequestSpec {
  request: string;
  signerName: string;
  expirationSeconds?: number;
  usages?: string[];
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

export interface CertificateSigningRequestStatus {
  conditions?: CertificateSigningRequestCondition[];
  certificate?: string;
}

export interface ClusterTrustBundle {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: ClusterTrustBundleSpec;
}

export const ClusterTrustBundle: Kind<ClusterTrustBundle> = {"group":"certificates.k8s.io","version":"v1","kind":"ClusterTrustBundle","resource":"clustertrustbundles","namespaced":false};

export interface ClusterTrustBundleList {
  metadata?: ListMeta;
  items: ClusterTrustBundle[];
}

export interface ClusterTrustBundleSpec {
  signerName?: string;
  trustBundle: string;
}

export interface PodCertificateRequest {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: PodCertificateRequestSpec;
  status?: PodCertificateRequestStatus;
}

export const PodCertificateRequest: Kind<PodCertificateRequest> = {"group":"certificates.k8s.io","version":"v1","kind":"PodCertificateRequest","resource":"podcertificaterequests","namespaced":true};

export interface PodCertificateRequestList {
  metadata?: ListMeta;
  items: PodCertificateRequest[];
}

export interface PodCertificateRequestSpec {
  signerName: string;
  podName: string;
  podUID: string;
  serviceAccountName: string;
  serviceAccountUID: string;
  nodeName: string;
  nodeUID: string;
  maxExpirationSeconds?: number;
  stubPKCS10Request: string;
  unverifiedUserAnnotations?: Record<string, string>;
}

export interface PodCertificateRequestStatus {
  conditions?: Condition[];
  certificateChain?: string;
  notBefore?: Time;
  beginRefreshAt?: Time;
  notAfter?: Time;
}
