import type { FieldErrors } from "../../../checks/field.ts";
import { SubjectAccessReview } from "../../../generated/authorization/v1.ts";
import { defineKind } from "../../define.ts";
import { checkEmptyMetadata, checkSubject } from "../questions.ts";

function checkSubjectReview(errors: FieldErrors, review: SubjectAccessReview): void {
  checkSubject(errors, review);
  checkEmptyMetadata(errors, review.metadata);
}

export const subjectAccessReview = defineKind(SubjectAccessReview, {
  validation: { create: checkSubjectReview },
});
