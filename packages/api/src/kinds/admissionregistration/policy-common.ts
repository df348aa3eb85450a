import type { AdmissionExpressions, ValidationContext } from "../../checks/context.ts";
import { type FieldErrors, sameValue } from "../../checks/field.ts";
import { checkMetadata } from "../../checks/metadata.ts";
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  Variable,
} from "../../generated/admissionregistration/v1.ts";
import type { KubeObject } from "../../objects/object.ts";
import { dnsSubdomain } from "../../values/names.ts";
import { checkCompiled, checkMatchConditions, checkMatchResources } from "./matching.ts";
import { checkParamKind, checkParamRef } from "./parameters.ts";

export const failurePolicies = ["Fail", "Ignore"];
export const reinvocationPolicies = ["IfNeeded", "Never"];

type Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy;

export function checkName(errors: FieldErrors, object: KubeObject): void {
  checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, false);
}

/** Checks the fields that both kinds of policies share, up to match conditions. */
export function checkCommon(errors: FieldErrors, { spec = {} }: Policy): void {
  errors.oneOf("spec.failurePolicy", spec.failurePolicy, failurePolicies);
  checkParamKind(errors, "spec.paramKind", spec.paramKind);
  const { matchConstraints: match } = spec;
  if (match === undefined) errors.required("spec.matchConstraints");
  else {
    checkMatchResources(errors, "spec.matchConstraints", match);
    if (!match.resourceRules?.length) errors.required("spec.matchConstraints.resourceRules");
  }
}

/** Checks match conditions, unless an update leaves them and paramKind unchanged. */
export function checkPolicyConditions(
  errors: FieldErrors,
  { spec = {} }: Policy,
  old: Policy | undefined,
  context: ValidationContext,
): void {
  const unchanged =
    old !== undefined &&
    sameValue(spec.paramKind, old.spec?.paramKind) &&
    sameValue(spec.matchConditions, old.spec?.matchConditions);
  if (unchanged) return;
  // Match conditions are compiled before any variable is composed.
  const expressions = context.admissionExpressions?.({ composes: false });
  const { matchConditions: conditions } = spec;
  checkMatchConditions(errors, "spec.matchConditions", conditions, expressions, spec.paramKind !== undefined);
}

export function checkVariables(
  errors: FieldErrors,
  variables: readonly Variable[] | undefined,
  expressions: AdmissionExpressions | undefined,
  params: boolean,
): void {
  (variables ?? []).forEach(({ name, expression }, i) => {
    const path = `spec.variables[${i}]`;
    if (!name?.trim()) errors.required(`${path}.name`, "name is not specified");
    else if (!isIdentifier(name)) errors.invalid(`${path}.name`, name, "must be a valid CEL identifier");
    if (!expression?.trim()) errors.required(`${path}.expression`, "expression is not specified");
    else {
      const compiled = expressions?.variable(name ?? "", expression, { params });
      checkCompiled(errors, `${path}.expression`, expression, compiled);
    }
  });
}

const reserved = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace return var " +
    "void while"
  ).split(" "),
);
const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);

/** Checks that both kinds of bindings share. */
export function checkBindingOf(
  errors: FieldErrors,
  binding: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding,
): void {
  checkName(errors, binding);
  const { policyName, paramRef, matchResources } = binding.spec ?? {};
  errors.checkRequired(dnsSubdomain, "spec.policyName", policyName);
  checkParamRef(errors, "spec.paramRef", paramRef);
  checkMatchResources(errors, "spec.matchResources", matchResources);
}
