import { ValidatingAdmissionPolicy } from "@dray/api/admissionregistration/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { validatingPolicies } from "../columns.ts";
import { admissionPolicies } from "../policy-rights.ts";

export const validatingAdmissionPolicy: ServedKind<ValidatingAdmissionPolicy> = defineServedKind(
  ValidatingAdmissionPolicy,
  {
    facts: { status: "reset", generation: true, needsVersion: true },
    strategy: admissionPolicies,
    columns: validatingPolicies,
  },
);
