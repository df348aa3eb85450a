import { PodCertificateRequest } from "../../../generated/certificates/v1.ts";
import { defineKind } from "../../define.ts";

/**
 * A pod certificate lasts 24 hours at most by default. Upstream: certificates/v1, PodCertificateRequestSpec
 */
function defaultPodCertificateRequest({ spec }: PodCertificateRequest): void {
  spec.maxExpirationSeconds ??= 24 * 60 * 60;
}

export const podCertificateRequest = defineKind(PodCertificateRequest, {
  defaults: defaultPodCertificateRequest,
});
