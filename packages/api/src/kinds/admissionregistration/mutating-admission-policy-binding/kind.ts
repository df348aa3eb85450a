import { MutatingAdmissionPolicyBinding } from "../../../generated/admissionregistration/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPolicyBinding } from "../defaults.ts";
import { mutatingBindingValidation } from "./validation.ts";

export const mutatingAdmissionPolicyBinding = defineKind(MutatingAdmissionPolicyBinding, {
  defaults: defaultPolicyBinding,
  validation: mutatingBindingValidation,
});
