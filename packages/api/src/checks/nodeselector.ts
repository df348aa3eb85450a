import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from "../generated/core/v1.ts";
import type { LabelSelector } from "../generated/meta/v1.ts";
import { dnsSubdomain, isLabelValue, qualifiedName } from "../values/names.ts";
import type { FieldErrors } from "./field.ts";

function checkExpression(
  errors: FieldErrors,
  path: string,
  { key, operator, values }: NodeSelectorRequirement,
  anyValues: boolean,
): void {
  const count = values?.length ?? 0;
  switch (operator) {
    case "In":
    case "NotIn":
      if (count === 0)
        errors.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case "Exists":
    case "DoesNotExist":
      if (count > 0) {
        errors.forbidden(
          `${path}.values`,
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        );
      }
      break;
    case "Gt":
    case "Lt":
      if (count !== 1) {
        errors.required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
      }
      break;
    default:
      errors.invalid(`${path}.operator`, operator ?? "", "not a valid selector operator");
  }
  errors.check(qualifiedName, `${path}.key`, key ?? "");
  if (anyValues) return;
  (values ?? []).forEach((value, index) => {
    errors.check(isLabelValue, `${path}.values[${index}]`, value);
  });
}

/** Only the node's name can be compared, with one value. */
function checkField(
  errors: FieldErrors,
  path: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
): void {
  if (operator === "In" || operator === "NotIn") {
    if (values.length !== 1) {
      const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      errors.required(`${path}.values`, detail);
    }
  } else errors.invalid(`${path}.operator`, operator ?? "", "not a valid selector operator");
  if (key !== "metadata.name") errors.invalid(`${path}.key`, key ?? "", "not a valid field selector key");
  else {
    values.forEach((value, index) => {
      errors.check(dnsSubdomain, `${path}.values[${index}]`, value);
    });
  }
}

/** `anyValues`: values of expressions need not be those of labels. */
export function checkNodeSelectorTerm(
  errors: FieldErrors,
  path: string,
  term: NodeSelectorTerm,
  anyValues = false,
): void {
  (term.matchExpressions ?? []).forEach((requirement, index) => {
    checkExpression(errors, `${path}.matchExpressions[${index}]`, requirement, anyValues);
  });
  (term.matchFields ?? []).forEach((requirement, index) => {
    checkField(errors, `${path}.matchFields[${index}]`, requirement);
  });
}

export function checkNodeSelector(errors: FieldErrors, path: string, selector: NodeSelector): void {
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0)
    errors.required(`${path}.nodeSelectorTerms`, "must have at least one node selector term");
  terms.forEach((term, index) => {
    checkNodeSelectorTerm(errors, `${path}.nodeSelectorTerms[${index}]`, term);
  });
}

/** A LabelSelector object (meta/v1); `anyValues`: values of expressions need not be those of labels. */
export function checkLabelSelector(
  errors: FieldErrors,
  path: string,
  selector: LabelSelector | undefined,
  anyValues = false,
): void {
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) {
    errors.check(qualifiedName, `${path}.matchLabels`, key);
    errors.check(isLabelValue, `${path}.matchLabels`, value);
  }
  (selector?.matchExpressions ?? []).forEach(({ key, operator, values = [] }, index) => {
    const at = `${path}.matchExpressions[${index}]`;
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0) {
        errors.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      }
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0) {
        errors.forbidden(
          `${at}.values`,
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        );
      }
    } else errors.invalid(`${at}.operator`, operator ?? "", "not a valid selector operator");
    errors.check(qualifiedName, `${at}.key`, key ?? "");
    if (anyValues) return;
    values.forEach((value, place) => {
      errors.check(isLabelValue, `${at}.values[${place}]`, value);
    });
  });
}
