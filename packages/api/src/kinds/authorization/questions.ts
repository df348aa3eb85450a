import type { FieldErrors } from "../../checks/field.ts";
import type {
  LocalSubjectAccessReview,
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReview,
} from "../../generated/authorization/v1.ts";
import { isLabelValue, qualifiedName } from "../../values/names.ts";

interface Questions {
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
}

/** As upstream's own structure is printed. */
export const printed = ({ path = "", verb = "" }: NonResourceAttributes): object => ({
  Path: path,
  Verb: verb,
});

export function checkQuestion(errors: FieldErrors, spec: Questions | undefined): void {
  const { resourceAttributes, nonResourceAttributes } = spec ?? {};
  if (resourceAttributes && nonResourceAttributes) {
    errors.invalid(
      "spec.nonResourceAttributes",
      printed(nonResourceAttributes),
      "cannot be specified in combination with resourceAttributes",
    );
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.invalid("spec.resourceAttributes", null, detail);
  }
}

/** Rejects metadata. Fields that the server itself sets are accepted, but printed in the error. */
export function checkEmptyMetadata(
  errors: FieldErrors,
  metadata: object | undefined,
  allowed: readonly string[] = [],
): void {
  const entries = Object.entries(metadata ?? {}).filter(
    ([, value]) => value !== "" && value !== null && value !== undefined,
  );
  if (entries.every(([name]) => name === "managedFields" || allowed.includes(name))) return;
  const detail = ["must be empty", ...allowed.map((name) => `except for ${name}`)].join(" ");
  errors.invalid("metadata", Object.fromEntries(entries), detail);
}

interface Selector {
  readonly rawSelector?: string;
  readonly requirements?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

/** A selector is given as text or in parts; operators that are not known yet are let through (KEP-4601). */
function checkSelector(errors: FieldErrors, path: string, selector: Selector | undefined): void {
  if (!selector) return;
  const { rawSelector = "", requirements = [] } = selector;
  if (rawSelector !== "" && requirements.length > 0) {
    errors.invalid(`${path}.rawSelector`, rawSelector, "may not specified at the same time as requirements");
  }
  if (rawSelector === "" && requirements.length === 0) {
    const detail = `when ${path} is specified, requirements or rawSelector is required`;
    errors.required(`${path}.requirements`, detail);
  }
  requirements.forEach(({ key, operator, values = [] }, index) => {
    const at = `${path}.requirements[${index}]`;
    const ofLabels = path.endsWith("labelSelector");
    if (!ofLabels && key === "") errors.required(`${at}.key`, "must be specified");
    const fixed = operator === "In" || operator === "NotIn";
    if (fixed && values.length === 0)
      errors.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      errors.forbidden(`${at}.values`, detail);
    }
    if (!ofLabels) return;
    errors.check(qualifiedName, `${at}.key`, key);
    for (const [which, value] of values.entries())
      errors.check(isLabelValue, `${at}.values[${which}]`, value);
  });
}

export function checkSelectors(errors: FieldErrors, spec: Questions | undefined): void {
  const { fieldSelector, labelSelector } = spec?.resourceAttributes ?? {};
  checkSelector(errors, "spec.resourceAttributes.fieldSelector", fieldSelector);
  checkSelector(errors, "spec.resourceAttributes.labelSelector", labelSelector);
}

export function checkSubject(
  errors: FieldErrors,
  { spec }: SubjectAccessReview | LocalSubjectAccessReview,
): void {
  checkQuestion(errors, spec);
  if (!spec?.user && (spec?.groups ?? []).length === 0) {
    errors.invalid("spec.user", "", "at least one of user or group must be specified");
  }
  checkSelectors(errors, spec);
}
