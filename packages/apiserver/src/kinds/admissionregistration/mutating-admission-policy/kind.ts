import { MutatingAdmissionPolicy } from "@dray/api/admissionregistration/v1";
import { defineServedKind } from "../../define.ts";
import { mutatingPolicies } from "../columns.ts";
import { admissionPolicies } from "../policy-rights.ts";

export const mutatingAdmissionPolicy = defineServedKind(MutatingAdmissionPolicy, {
  facts: {
    generation: true,
    needsVersion: true,
    storageVersion: { "1.36": "v1beta1" },
    deprecated: { v1alpha1: { since: "1.35", gone: "1.38" }, v1beta1: { since: "1.37", gone: "1.40" } },
  },
  strategy: admissionPolicies,
  columns: mutatingPolicies,
});
