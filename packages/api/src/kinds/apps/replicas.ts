import type { ValidationContext } from "../../checks/context.ts";
import { checkImmutable, type FieldErrors } from "../../checks/field.ts";
import { checkLabelSelector } from "../../checks/nodeselector.ts";
import { isEmptySelector, selects, shownSelector } from "../../checks/shown-selectors.ts";
import type { Deployment, ReplicaSet } from "../../generated/apps/v1.ts";
import type { LabelSelector } from "../../generated/meta/v1.ts";
import { checkEndless, checkMatch, checkTemplate } from "../core/pod-template/template.ts";

export function checkSelectorKept(
  errors: FieldErrors,
  selector: LabelSelector | undefined,
  old: LabelSelector | undefined,
): void {
  checkImmutable(errors.at("spec.selector"), selector, old, () => shownSelector(selector));
}

export function checkReplicaSpec(
  errors: FieldErrors,
  spec: Deployment["spec"] | ReplicaSet["spec"],
  context: ValidationContext,
): void {
  const { selector, template } = spec ?? {};
  if (!selector) errors.at("spec.selector").required();
  else {
    checkLabelSelector(errors.at("spec.selector"), selector);
    if (isEmptySelector(selector))
      errors.at("spec.selector").invalid(selector, "empty selector is invalid for deployment");
  }
  if (selects(selector, {}) === undefined) {
    errors.at("spec.selector").invalid(shownSelector(selector), "invalid label selector");
    return;
  }
  // No selector at all selects nothing; an empty one is not compared.
  if (!selector || !isEmptySelector(selector)) checkMatch(errors.at("spec.template"), selector, template);
  checkTemplate(errors.at("spec.template"), template, context);
  checkEndless(errors.at("spec.template"), template, "ReplicaSet");
}
