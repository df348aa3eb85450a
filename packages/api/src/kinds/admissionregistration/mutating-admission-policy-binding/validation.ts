import type { FieldErrors } from "../../../checks/field.ts";
import type { MutatingAdmissionPolicyBinding } from "../../../generated/admissionregistration/v1.ts";
import { checkMutated } from "../mutated-resources.ts";
import { checkBindingOf } from "../policy-common.ts";

function checkMutatingBinding(errors: FieldErrors, binding: MutatingAdmissionPolicyBinding): void {
  checkBindingOf(errors, binding);
  checkMutated(errors.at("spec.matchResources"), binding.spec?.matchResources);
}

/** MutatingAdmissionPolicyBinding. */
export const mutatingBindingValidation = { create: checkMutatingBinding, update: checkMutatingBinding };
