import type { FieldErrors } from "../../../checks/field.ts";
import type { ValidatingAdmissionPolicyBinding } from "../../../generated/admissionregistration/v1.ts";
import { checkBindingOf } from "../policy-common.ts";

const actions = ["Audit", "Deny", "Warn"];

function checkValidatingBinding(errors: FieldErrors, binding: ValidatingAdmissionPolicyBinding): void {
  checkBindingOf(errors, binding);
  const path = "spec.validationActions";
  const given = binding.spec?.validationActions ?? [];
  const seen = new Set<string>();
  given.forEach((action, i) => {
    if (!actions.includes(action)) errors.notSupported(`${path}[${i}]`, action, actions);
    if (seen.has(action)) errors.duplicate(`${path}[${i}]`, action);
    seen.add(action);
  });
  if (seen.has("Deny") && seen.has("Warn")) {
    const why =
      "repeating the same validation failure information in the API response and headers serves no purpose";
    errors.invalid(path, given, `must not contain both Deny and Warn (${why})`);
  }
  if (seen.size === 0) errors.required(path, "at least one validation action is required");
}

/** ValidatingAdmissionPolicyBinding. */
export const validatingBindingValidation = { create: checkValidatingBinding, update: checkValidatingBinding };
