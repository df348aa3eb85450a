import type {
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  Mutation,
} from "../../generated/admissionregistration/v1.ts";
import type { ValidationContext } from "../context.ts";
import type { FieldErrors } from "../field.ts";
import {
  checkBindingOf,
  checkCommon,
  checkName,
  checkVariables,
  reinvocationPolicies,
} from "./policy-common.ts";

const patchTypes = ["ApplyConfiguration", "JSONPatch"];
/** A policy that mutates is not asked about deletions. */
const mutatedOperations = ["*", "CONNECT", "CREATE", "UPDATE"];

function checkMutated(errors: FieldErrors, path: string, match: MatchResources | undefined): void {
  for (const operation of (match?.resourceRules ?? []).flatMap((rule) => rule.operations ?? [])) {
    if (!mutatedOperations.includes(operation))
      errors.notSupported(`${path}.resourceRules.operations`, operation, mutatedOperations);
  }
}

function checkMutatingPolicyOf(
  errors: FieldErrors,
  policy: MutatingAdmissionPolicy,
  old: MutatingAdmissionPolicy | undefined,
  context: ValidationContext,
): void {
  checkName(errors, policy);
  const { spec = {} } = policy;
  checkCommon(errors, policy, old, context);
  checkMutated(errors, "spec.matchConstraints", spec.matchConstraints);
  const expressions = context.admissionExpressions?.({ composes: true });
  checkVariables(errors, spec.variables, expressions, spec.paramKind !== undefined);
  const { mutations = [] } = spec;
  if (mutations.length === 0) errors.required("spec.mutations", "mutations must contain at least one item");
  mutations.forEach((mutation, i) => {
    checkMutation(errors, `spec.mutations[${i}]`, mutation);
  });
  errors.oneOf("spec.reinvocationPolicy", spec.reinvocationPolicy, reinvocationPolicies);
}

/** Only its shape: what it would do to an object is not looked at, as these policies are not applied. */
function checkMutation(errors: FieldErrors, path: string, mutation: Mutation): void {
  const { patchType } = mutation;
  if (patchType !== "JSONPatch" && patchType !== "ApplyConfiguration") {
    errors.oneOf(`${path}.patchType`, patchType, patchTypes);
    return;
  }
  const [own, other] =
    patchType === "JSONPatch"
      ? (["jsonPatch", "applyConfiguration"] as const)
      : (["applyConfiguration", "jsonPatch"] as const);
  if (mutation[own] === undefined)
    errors.required(`${path}.${own}`, `must be specified when patchType is ${patchType}`);
  else if (!mutation[own].expression?.trim()) errors.required(`${path}.${own}.expression`);
  if (mutation[other] !== undefined)
    errors.invalid(`${path}.${other}`, `{${other}}`, `must not be specified when patchType is ${patchType}`);
}

/** MutatingAdmissionPolicy (KEP-3962). */
export const mutatingPolicy = {
  create: (errors: FieldErrors, policy: MutatingAdmissionPolicy, context: ValidationContext): void =>
    checkMutatingPolicyOf(errors, policy, undefined, context),
  update: checkMutatingPolicyOf,
};

function checkMutatingBinding(errors: FieldErrors, binding: MutatingAdmissionPolicyBinding): void {
  checkBindingOf(errors, binding);
  checkMutated(errors, "spec.matchResources", binding.spec?.matchResources);
}

/** MutatingAdmissionPolicyBinding. */
export const mutatingBinding = { create: checkMutatingBinding, update: checkMutatingBinding };
