import type { FieldErrors } from "../../../checks/field.ts";
import type { ValidatingAdmissionPolicyBinding } from "../../../generated/admissionregistration/v1.ts";
import { checkBindingOf } from "../policy-common.ts";

const actions = ["Audit", "Deny", "Warn"];

function checkValidatingBinding(errors: FieldErrors, binding: ValidatingAdmissionPolicyBinding): void {
  checkBindingOf(errors, binding);
  const here = errors.at("spec.validationActions");
  const given = binding.spec?.validationActions ?? [];
  const seen = new Set<string>();
  given.forEach((action, i) => {
    if (!actions.includes(action)) here.index(i).notSupported(action, actions);
    if (seen.has(action)) here.index(i).duplicate(action);
    seen.add(action);
  });
  if (seen.has("Deny") && seen.has("Warn")) {
    const why =
      "repeating the same validation failure information in the API response and headers serves no purpose";
    here.invalid(given, `must not contain both Deny and Warn (${why})`);
  }
  if (seen.size === 0) here.required("at least one validation action is required");
}

/** ValidatingAdmissionPolicyBinding. */
export const validatingBindingValidation = { create: checkValidatingBinding, update: checkValidatingBinding };
