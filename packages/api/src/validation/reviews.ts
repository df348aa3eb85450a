/** Reviews and token requests: objects that are answered and never stored, so that their metadata stays empty. */
import type { TokenRequest, TokenReview } from "../generated/authentication/v1.ts";
import type {
  LocalSubjectAccessReview,
  NonResourceAttributes,
  SelfSubjectAccessReview,
  SubjectAccessReview,
} from "../generated/authorization/v1.ts";
import type { FieldErrors } from "./field.ts";

interface Questions {
  readonly resourceAttributes?: object;
  readonly nonResourceAttributes?: NonResourceAttributes;
}

function checkQuestion(errors: FieldErrors, spec: Questions | undefined): void {
  const { resourceAttributes, nonResourceAttributes } = spec ?? {};
  if (resourceAttributes && nonResourceAttributes) {
    const { path = "", verb = "" } = nonResourceAttributes;
    const printed = { Path: path, Verb: verb };
    errors.invalid(
      "spec.nonResourceAttributes",
      printed,
      "cannot be specified in combination with resourceAttributes",
    );
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.invalid("spec.resourceAttributes", null, detail);
  }
}

function checkEmptyMetadata(
  errors: FieldErrors,
  metadata: object | undefined,
  allowed: readonly string[],
): void {
  const entries = Object.entries(metadata ?? {}).filter(
    ([name, value]) => value !== "" && value !== null && value !== undefined && !allowed.includes(name),
  );
  if (entries.length > 0) errors.invalid("metadata", Object.fromEntries(entries), "must be empty");
}

/** What the server itself may have put there. */
const ours = ["managedFields", "creationTimestamp", "uid"];

export function checkSelfReview(errors: FieldErrors, review: SelfSubjectAccessReview): void {
  checkQuestion(errors, review.spec);
  checkEmptyMetadata(errors, review.metadata, ours);
}

function checkSubject(errors: FieldErrors, { spec }: SubjectAccessReview | LocalSubjectAccessReview): void {
  checkQuestion(errors, spec);
  if (!spec?.user && (spec?.groups ?? []).length === 0) {
    errors.invalid("spec.user", "", "at least one of user or group must be specified");
  }
}

export function checkSubjectReview(errors: FieldErrors, review: SubjectAccessReview): void {
  checkSubject(errors, review);
  checkEmptyMetadata(errors, review.metadata, ours);
}

export function checkLocalReview(errors: FieldErrors, review: LocalSubjectAccessReview): void {
  checkSubject(errors, review);
  checkEmptyMetadata(errors, review.metadata, [...ours, "namespace"]);
  const asked = review.spec?.resourceAttributes?.namespace;
  if (review.spec?.resourceAttributes && asked !== review.metadata?.namespace) {
    errors.invalid("spec.resourceAttributes.namespace", asked ?? "", "must match metadata.namespace");
  }
  if (review.spec?.nonResourceAttributes) {
    errors.invalid(
      "spec.nonResourceAttributes",
      review.spec.nonResourceAttributes,
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
