import { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { defineServedKind } from "../../define.ts";
import { certificateSigningRequestColumns } from "./columns.ts";
import { certificateSigningRequestStrategy } from "./strategy.ts";

export const certificateSigningRequest = defineServedKind(CertificateSigningRequest, {
  facts: {
    status: "keep",
    fields: ["spec.signerName"],
    fieldError: "core",
    subresources: { approval: { kind: "CertificateSigningRequest", verbs: ["get", "patch", "update"] } },
  },
  strategy: certificateSigningRequestStrategy,
  columns: certificateSigningRequestColumns,
});
