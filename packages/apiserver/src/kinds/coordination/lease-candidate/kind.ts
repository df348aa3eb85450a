import { LeaseCandidate } from "@dray/api/coordination/v1beta1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { leaseCandidateColumns } from "./columns.ts";

export const leaseCandidate: ServedKind<LeaseCandidate> = defineServedKind(LeaseCandidate, {
  facts: {
    createOnUpdate: true,
    needsVersion: true,
    deprecated: { v1alpha2: { since: "1.35", gone: "1.38" }, v1beta1: { since: "1.36", gone: "1.39" } },
  },
  columns: leaseCandidateColumns,
});
