import { ValidatingAdmissionPolicyBinding } from "@dray/api/admissionregistration/v1";
import { defineServedKind } from "../../define.ts";
import { policyBindings } from "../columns.ts";
import { validatingAdmissionPolicyBindings } from "../policy-rights.ts";

export const validatingAdmissionPolicyBinding = defineServedKind(ValidatingAdmissionPolicyBinding, {
  facts: { generation: true, needsVersion: true },
  strategy: validatingAdmissionPolicyBindings,
  columns: policyBindings,
});
