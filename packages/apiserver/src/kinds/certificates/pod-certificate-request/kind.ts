import { PodCertificateRequest } from "@dray/api/certificates/v1";
import { defineServedKind } from "../../define.ts";
import { podCertificateRequestStrategy } from "./strategy.ts";

export const podCertificateRequest = defineServedKind(PodCertificateRequest, {
  facts: {
    gate: "PodCertificateRequest",
    status: "reset",
    needsVersion: true,
    fields: ["spec.signerName", "spec.podName", "spec.nodeName"],
  },
  strategy: podCertificateRequestStrategy,
});
