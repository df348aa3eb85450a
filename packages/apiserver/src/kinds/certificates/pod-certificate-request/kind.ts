import { PodCertificateRequest } from "@dray/api/certificates/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { podCertificateRequestStrategy } from "./strategy.ts";

export const podCertificateRequest: ServedKind<PodCertificateRequest> = defineServedKind(
  PodCertificateRequest,
  {
    facts: {
      gate: "PodCertificateRequest",
      status: "reset",
      fields: ["spec.signerName", "spec.podName", "spec.nodeName"],
    },
    strategy: podCertificateRequestStrategy,
  },
);
