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
    errors
      .at("spec.nonResourceAttributes")
      .invalid(printed(nonResourceAttributes), "cannot be specified in combination with resourceAttributes");
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.at("spec.resourceAttributes").invalid(null, detail);
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
  errors.at("metadata").invalid(Object.fromEntries(entries), detail);
}

interface Selector {
  readonly rawSelector?: string;
  readonly requirements?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

/** A selector is given as text or in parts; operators that are not known yet are let through (KEP-4601). */
function checkSelector(errors: FieldErrors, selector: Selector | undefined, ofLabels: boolean): void {
  if (!selector) return;
  const { rawSelector = "", requirements = [] } = selector;
  if (rawSelector !== "" && requirements.length > 0) {
    errors.at("rawSelector").invalid(rawSelector, "may not specified at the same time as requirements");
  }
  if (rawSelector === "" && requirements.length === 0) {
    const detail = `when ${errors.path} is specified, requirements or rawSelector is required`;
    errors.at("requirements").required(detail);
  }
  requirements.forEach(({ key, operator, values = [] }, index) => {
    const here = errors.at("requirements").index(index);
    if (!ofLabels && key === "") here.at("key").required("must be specified");
    const fixed = operator === "In" || operator === "NotIn";
    if (fixed && values.length === 0)
      here.at("values").required("must be specified when `operator` is 'In' or 'NotIn'");
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      here.at("values").forbidden(detail);
    }
    if (!ofLabels) return;
    here.at("key").check(qualifiedName, key);
    for (const [which, value] of values.entries()) here.at("values").index(which).check(isLabelValue, value);
  });
}

export function checkSelectors(errors: FieldErrors, spec: Questions | undefined): void {
  const { fieldSelector, labelSelector } = spec?.resourceAttributes ?? {};
  checkSelector(errors.at("spec.resourceAttributes.fieldSelector"), fieldSelector, false);
  checkSelector(errors.at("spec.resourceAttributes.labelSelector"), labelSelector, true);
}

export function checkSubject(
  errors: FieldErrors,
  { spec }: SubjectAccessReview | LocalSubjectAccessReview,
): void {
  checkQuestion(errors, spec);
  if (!spec?.user && (spec?.groups ?? []).length === 0) {
    errors.at("spec.user").invalid("", "at least one of user or group must be specified");
  }
  checkSelectors(errors, spec);
}
