import type { AdmissionExpressions, ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import type { MutatingAdmissionPolicy, Mutation } from "../../../generated/admissionregistration/v1.ts";
import { checkCompiled } from "../matching.ts";
import { checkMutated } from "../mutated-resources.ts";
import {
  checkCommon,
  checkName,
  checkPolicyConditions,
  checkVariables,
  reinvocationPolicies,
} from "../policy-common.ts";

const patchTypes = ["ApplyConfiguration", "JSONPatch"];

function checkMutatingPolicyOf(
  errors: FieldErrors,
  policy: MutatingAdmissionPolicy,
  old: MutatingAdmissionPolicy | undefined,
  context: ValidationContext,
): void {
  checkName(errors, policy);
  const { spec = {} } = policy;
  checkCommon(errors, policy);
  checkMutated(errors.at("spec.matchConstraints"), spec.matchConstraints);
  checkPolicyConditions(errors, policy, old, context);
  const expressions = context.admissionExpressions?.({ composes: true });
  const params = spec.paramKind !== undefined;
  checkVariables(errors, spec.variables, expressions, params);
  const { mutations = [] } = spec;
  if (mutations.length === 0)
    errors.at("spec.mutations").required("mutations must contain at least one item");
  mutations.forEach((mutation, i) => {
    checkMutation(errors.at("spec.mutations").index(i), mutation, expressions, params);
  });
  errors.at("spec.reinvocationPolicy").oneOf(spec.reinvocationPolicy, reinvocationPolicies);
}

/** Upstream: pkg/apis/admissionregistration/validation/validation.go, validateMutation */
function checkMutation(
  errors: FieldErrors,
  mutation: Mutation,
  expressions: AdmissionExpressions | undefined,
  params: boolean,
): void {
  const { patchType } = mutation;
  if (patchType !== "JSONPatch" && patchType !== "ApplyConfiguration") {
    errors.at("patchType").oneOf(patchType, patchTypes);
    return;
  }
  const [own, other] =
    patchType === "JSONPatch"
      ? (["jsonPatch", "applyConfiguration"] as const)
      : (["applyConfiguration", "jsonPatch"] as const);
  const wanted = mutation[own];
  if (wanted === undefined) errors.at(own).required(`must be specified when patchType is ${patchType}`);
  else {
    const text = (wanted.expression ?? "").trim();
    const result = patchType === "JSONPatch" ? "patches" : "object";
    if (text === "") errors.at(own).at("expression").required();
    else {
      const compiled = expressions?.compile(text, { result, params, authorizer: true, patchTypes: true });
      checkCompiled(errors.at(own).at("expression"), text, compiled);
    }
  }
  if (mutation[other] !== undefined)
    errors.at(other).invalid(`{${other}}`, `must not be specified when patchType is ${patchType}`);
}

/** MutatingAdmissionPolicy (KEP-3962). */
export const mutatingPolicyValidation = {
  create: (errors: FieldErrors, policy: MutatingAdmissionPolicy, context: ValidationContext): void =>
    checkMutatingPolicyOf(errors, policy, undefined, context),
  update: checkMutatingPolicyOf,
};
