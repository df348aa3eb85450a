import { SubjectAccessReview } from "@dray/api/authorization/v1";
import { defineServedKind } from "../../define.ts";

export const subjectAccessReview = defineServedKind(SubjectAccessReview, {
  facts: { createOnly: true },
});
