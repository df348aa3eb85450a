import type { FieldErrors } from "../../../checks/field.ts";
import { SelfSubjectAccessReview } from "../../../generated/authorization/v1.ts";
import { defineKind } from "../../define.ts";
import { checkEmptyMetadata, checkQuestion, checkSelectors } from "../questions.ts";

function checkSelfReview(errors: FieldErrors, review: SelfSubjectAccessReview): void {
  checkQuestion(errors, review.spec);
  checkSelectors(errors, review.spec);
  checkEmptyMetadata(errors, review.metadata);
}

export const selfSubjectAccessReview = defineKind(SelfSubjectAccessReview, {
  validation: { create: checkSelfReview },
});
