import { humanDuration } from "@dray/api";
import type { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";

function signingState({ status }: CertificateSigningRequest): string {
  const has = (wanted: string): boolean => (status?.conditions ?? []).some(({ type }) => type === wanted);
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  return `${decision}${has("Failed") ? ",Failed" : ""}${status?.certificate ? ",Issued" : ""}`;
}

export const certificateSigningRequestColumns: Printer<CertificateSigningRequest> = {
  columns: columns("Name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"),
  cells: (request, now) => [
    request.metadata.name,
    ageText(request.metadata.creationTimestamp, now),
    request.spec?.signerName || none,
    request.spec?.username ?? "",
    request.spec?.expirationSeconds === undefined
      ? none
      : humanDuration(request.spec.expirationSeconds * 1000),
    signingState(request),
  ],
};
