import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from "../generated/core/v1.ts";
import type { LabelSelector } from "../generated/meta/v1.ts";
import { dnsSubdomain, isLabelValue, qualifiedName } from "../values/names.ts";
import type { FieldErrors } from "./field.ts";

function checkExpression(
  errors: FieldErrors,
  { key, operator, values }: NodeSelectorRequirement,
  anyValues: boolean,
): void {
  const count = values?.length ?? 0;
  switch (operator) {
    case "In":
    case "NotIn":
      if (count === 0) errors.at("values").required("must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case "Exists":
    case "DoesNotExist":
      if (count > 0) {
        errors.at("values").forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      }
      break;
    case "Gt":
    case "Lt":
      if (count !== 1) {
        errors.at("values").required("must be specified single value when `operator` is 'Lt' or 'Gt'");
      }
      break;
    default:
      errors.at("operator").invalid(operator ?? "", "not a valid selector operator");
  }
  errors.at("key").check(qualifiedName, key ?? "");
  if (anyValues) return;
  (values ?? []).forEach((value, index) => {
    errors.at("values").index(index).check(isLabelValue, value);
  });
}

/** Only the node's name can be compared, with one value. */
function checkField(errors: FieldErrors, { key, operator, values = [] }: NodeSelectorRequirement): void {
  if (operator === "In" || operator === "NotIn") {
    if (values.length !== 1) {
      const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      errors.at("values").required(detail);
    }
  } else errors.at("operator").invalid(operator ?? "", "not a valid selector operator");
  if (key !== "metadata.name") errors.at("key").invalid(key ?? "", "not a valid field selector key");
  else {
    values.forEach((value, index) => {
      errors.at("values").index(index).check(dnsSubdomain, value);
    });
  }
}

/** `anyValues`: values of expressions need not be those of labels. */
export function checkNodeSelectorTerm(errors: FieldErrors, term: NodeSelectorTerm, anyValues = false): void {
  (term.matchExpressions ?? []).forEach((requirement, index) => {
    checkExpression(errors.at("matchExpressions").index(index), requirement, anyValues);
  });
  (term.matchFields ?? []).forEach((requirement, index) => {
    checkField(errors.at("matchFields").index(index), requirement);
  });
}

export function checkNodeSelector(errors: FieldErrors, selector: NodeSelector): void {
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0)
    errors.at("nodeSelectorTerms").required("must have at least one node selector term");
  terms.forEach((term, index) => {
    checkNodeSelectorTerm(errors.at("nodeSelectorTerms").index(index), term);
  });
}

/** A LabelSelector object (meta/v1); `anyValues`: values of expressions need not be those of labels. */
export function checkLabelSelector(
  errors: FieldErrors,
  selector: LabelSelector | undefined,
  anyValues = false,
): void {
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) {
    errors.at("matchLabels").check(qualifiedName, key);
    errors.at("matchLabels").check(isLabelValue, value);
  }
  (selector?.matchExpressions ?? []).forEach(({ key, operator, values = [] }, index) => {
    const here = errors.at("matchExpressions").index(index);
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0) {
        here.at("values").required("must be specified when `operator` is 'In' or 'NotIn'");
      }
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0) {
        here.at("values").forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      }
    } else here.at("operator").invalid(operator ?? "", "not a valid selector operator");
    here.at("key").check(qualifiedName, key ?? "");
    if (anyValues) return;
    values.forEach((value, place) => {
      here.at("values").index(place).check(isLabelValue, value);
    });
  });
}
