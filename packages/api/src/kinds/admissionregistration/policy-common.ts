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
  checkMetadata(errors.at("metadata"), object.metadata, dnsSubdomain, false);
}

/** Checks the fields that both kinds of policies share, up to match conditions. */
export function checkCommon(errors: FieldErrors, { spec = {} }: Policy): void {
  errors.at("spec.failurePolicy").oneOf(spec.failurePolicy, failurePolicies);
  checkParamKind(errors.at("spec.paramKind"), spec.paramKind);
  const { matchConstraints: match } = spec;
  if (match === undefined) errors.at("spec.matchConstraints").required();
  else {
    checkMatchResources(errors.at("spec.matchConstraints"), match);
    if (!match.resourceRules?.length) errors.at("spec.matchConstraints.resourceRules").required();
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
  checkMatchConditions(
    errors.at("spec.matchConditions"),
    conditions,
    expressions,
    spec.paramKind !== undefined,
  );
}

export function checkVariables(
  errors: FieldErrors,
  variables: readonly Variable[] | undefined,
  expressions: AdmissionExpressions | undefined,
  params: boolean,
): void {
  (variables ?? []).forEach(({ name, expression }, i) => {
    const here = errors.at("spec.variables").index(i);
    if (!name?.trim()) here.at("name").required("name is not specified");
    else if (!isIdentifier(name)) here.at("name").invalid(name, "must be a valid CEL identifier");
    if (!expression?.trim()) here.at("expression").required("expression is not specified");
    else {
      const compiled = expressions?.variable(name ?? "", expression, { params });
      checkCompiled(here.at("expression"), expression, compiled);
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
  errors.at("spec.policyName").checkRequired(dnsSubdomain, policyName);
  checkParamRef(errors.at("spec.paramRef"), paramRef);
  checkMatchResources(errors.at("spec.matchResources"), matchResources);
}
