/** Reviews and token requests: objects that are answered and never stored, so that their metadata stays empty. */
import type { TokenRequest, TokenReview } from "../generated/authentication/v1.ts";
import type {
  LocalSubjectAccessReview,
  NonResourceAttributes,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SubjectAccessReview,
} from "../generated/authorization/v1.ts";
import { isLabelValue, qualifiedName } from "../values/names.ts";
import type { FieldErrors } from "./field.ts";

interface Questions {
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
}

/** As upstream's own structure is printed. */
const printed = ({ path = "", verb = "" }: NonResourceAttributes): object => ({ Path: path, Verb: verb });

function checkQuestion(errors: FieldErrors, spec: Questions | undefined): void {
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

/** What the server itself puts there does not count, but is printed. */
function checkEmptyMetadata(
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

function checkSelectors(errors: FieldErrors, spec: Questions | undefined): void {
  const { fieldSelector, labelSelector } = spec?.resourceAttributes ?? {};
  checkSelector(errors, "spec.resourceAttributes.fieldSelector", fieldSelector);
  checkSelector(errors, "spec.resourceAttributes.labelSelector", labelSelector);
}

export function checkSelfReview(errors: FieldErrors, review: SelfSubjectAccessReview): void {
  checkQuestion(errors, review.spec);
  checkSelectors(errors, review.spec);
  checkEmptyMetadata(errors, review.metadata);
}

function checkSubject(errors: FieldErrors, { spec }: SubjectAccessReview | LocalSubjectAccessReview): void {
  checkQuestion(errors, spec);
  if (!spec?.user && (spec?.groups ?? []).length === 0) {
    errors.invalid("spec.user", "", "at least one of user or group must be specified");
  }
  checkSelectors(errors, spec);
}

export function checkSubjectReview(errors: FieldErrors, review: SubjectAccessReview): void {
  checkSubject(errors, review);
  checkEmptyMetadata(errors, review.metadata);
}

export function checkLocalReview(errors: FieldErrors, review: LocalSubjectAccessReview): void {
  checkSubject(errors, review);
  checkEmptyMetadata(errors, review.metadata, ["namespace"]);
  const asked = review.spec?.resourceAttributes?.namespace;
  if (review.spec?.resourceAttributes && asked !== review.metadata?.namespace) {
    errors.invalid("spec.resourceAttributes.namespace", asked ?? "", "must match metadata.namespace");
  }
  if (review.spec?.nonResourceAttributes) {
    errors.invalid(
      "spec.nonResourceAttributes",
      printed(review.spec.nonResourceAttributes),
      "disallowed on this kind of request",
    );
  }
}

export function checkTokenReview(_errors: FieldErrors, _review: TokenReview): void {
  // Any token may be asked about: an empty or foreign one is simply not authenticated.
}

const tenMinutes = 10 * 60;
const largestSeconds = 2 ** 32;

export function checkTokenRequest(errors: FieldErrors, { spec }: TokenRequest): void {
  const seconds = spec?.expirationSeconds;
  if (seconds === undefined || seconds === null) return;
  const path = "spec.expirationSeconds";
  if (seconds < tenMinutes) errors.invalid(path, seconds, "may not specify a duration less than 10 minutes");
  if (seconds > largestSeconds)
    errors.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
}
