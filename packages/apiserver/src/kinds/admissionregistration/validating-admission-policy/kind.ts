import { ValidatingAdmissionPolicy } from "@dray/api/admissionregistration/v1";
import { defineServedKind } from "../../define.ts";
import { validatingPolicies } from "../columns.ts";
import { admissionPolicies } from "../policy-rights.ts";

export const validatingAdmissionPolicy = defineServedKind(ValidatingAdmissionPolicy, {
  facts: { status: "reset", generation: true, needsVersion: true },
  strategy: admissionPolicies,
  columns: validatingPolicies,
});
