// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/certificates/v1.ts";

export type * from "../../schema/generated/certificates/v1.ts";

export interface CertificateSigningRequest extends types.CertificateSigningRequest {}
export const CertificateSigningRequest: Kind<CertificateSigningRequest> = {"group":"certificates.k8s.io","version":"v1","kind":"CertificateSigningRequest","resource":"certificatesigningrequests","namespaced":false};

export interface ClusterTrustBundle extends types.ClusterTrustBundle {}
export const ClusterTrustBundle: Kind<ClusterTrustBundle> = {"group":"certificates.k8s.io","version":"v1","kind":"ClusterTrustBundle","resource":"clustertrustbundles","namespaced":false};

export interface PodCertificateRequest extends types.PodCertificateRequest {}
export const PodCertificateRequest: Kind<PodCertificateRequest> = {"group":"certificates.k8s.io","version":"v1","kind":"PodCertificateRequest","resource":"podcertificaterequests","namespaced":true};
