import { ValidatingAdmissionPolicy } from "../../../generated/admissionregistration/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPolicy } from "../defaults.ts";
import { validatingPolicyValidation } from "./validation.ts";

export const validatingAdmissionPolicy = defineKind(ValidatingAdmissionPolicy, {
  defaults: defaultPolicy,
  validation: validatingPolicyValidation,
});
