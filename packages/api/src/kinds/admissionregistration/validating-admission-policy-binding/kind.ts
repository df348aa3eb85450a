import { ValidatingAdmissionPolicyBinding } from "../../../generated/admissionregistration/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPolicyBinding } from "../defaults.ts";
import { validatingBindingValidation } from "./validation.ts";

export const validatingAdmissionPolicyBinding = defineKind(ValidatingAdmissionPolicyBinding, {
  defaults: defaultPolicyBinding,
  validation: validatingBindingValidation,
});
