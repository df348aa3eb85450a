import { SubjectAccessReview } from "@dray/api/authorization/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const subjectAccessReview: ServedKind<SubjectAccessReview> = defineServedKind(SubjectAccessReview, {
  facts: { createOnly: true },
});
