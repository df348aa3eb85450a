// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/certificates/v1.ts";

export type * from "../../schema/generated/certificates/v1.ts";

export type CertificateSigningRequest = types.CertificateSigningRequest;
export const CertificateSigningRequest: Kind<CertificateSigningRequest> = {"group":"certificates.k8s.io","version":"v1","kind":"CertificateSigningRequest","resource":"certificatesigningrequests","namespaced":false};

export type ClusterTrustBundle = types.ClusterTrustBundle;
export const ClusterTrustBundle: Kind<ClusterTrustBundle> = {"group":"certificates.k8s.io","version":"v1","kind":"ClusterTrustBundle","resource":"clustertrustbundles","namespaced":false};

export type PodCertificateRequest = types.PodCertificateRequest;
export const PodCertificateRequest: Kind<PodCertificateRequest> = {"group":"certificates.k8s.io","version":"v1","kind":"PodCertificateRequest","resource":"podcertificaterequests","namespaced":true};
