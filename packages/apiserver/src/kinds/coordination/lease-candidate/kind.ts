import { LeaseCandidate } from "@dray/api/coordination/v1beta1";
import { defineServedKind } from "../../define.ts";
import { leaseCandidateColumns } from "./columns.ts";

export const leaseCandidate = defineServedKind(LeaseCandidate, {
  facts: {
    createOnUpdate: true,
    needsVersion: true,
    deprecated: { v1alpha2: { since: "1.35", gone: "1.38" }, v1beta1: { since: "1.36", gone: "1.39" } },
  },
  columns: leaseCandidateColumns,
});
