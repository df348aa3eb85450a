import { MutatingAdmissionPolicy } from "../../../generated/admissionregistration/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPolicy } from "../defaults.ts";
import { mutatingPolicyValidation } from "./validation.ts";

export const mutatingAdmissionPolicy = defineKind(MutatingAdmissionPolicy, {
  defaults: defaultPolicy,
  validation: mutatingPolicyValidation,
});
