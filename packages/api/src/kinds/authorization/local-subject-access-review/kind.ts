import type { FieldErrors } from "../../../checks/field.ts";
import { LocalSubjectAccessReview } from "../../../generated/authorization/v1.ts";
import { defineKind } from "../../define.ts";
import { checkEmptyMetadata, checkSubject, printed } from "../questions.ts";

function checkLocalReview(errors: FieldErrors, review: LocalSubjectAccessReview): void {
  checkSubject(errors, review);
  checkEmptyMetadata(errors, review.metadata, ["namespace"]);
  const asked = review.spec?.resourceAttributes?.namespace;
  if (review.spec?.resourceAttributes && asked !== review.metadata?.namespace) {
    errors.at("spec.resourceAttributes.namespace").invalid(asked ?? "", "must match metadata.namespace");
  }
  if (review.spec?.nonResourceAttributes) {
    errors
      .at("spec.nonResourceAttributes")
      .invalid(printed(review.spec.nonResourceAttributes), "disallowed on this kind of request");
  }
}

export const localSubjectAccessReview = defineKind(LocalSubjectAccessReview, {
  validation: { create: checkLocalReview },
});
