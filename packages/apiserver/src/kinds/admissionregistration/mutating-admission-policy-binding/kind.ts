import { MutatingAdmissionPolicyBinding } from "@dray/api/admissionregistration/v1";
import { defineServedKind } from "../../define.ts";
import { policyBindings } from "../columns.ts";
import { mutatingAdmissionPolicyBindings } from "../policy-rights.ts";

export const mutatingAdmissionPolicyBinding = defineServedKind(MutatingAdmissionPolicyBinding, {
  facts: {
    generation: true,
    needsVersion: true,
    storageVersion: { "1.36": "v1beta1" },
    deprecated: { v1alpha1: { since: "1.35", gone: "1.38" }, v1beta1: { since: "1.37", gone: "1.40" } },
  },
  strategy: mutatingAdmissionPolicyBindings,
  columns: policyBindings,
});
