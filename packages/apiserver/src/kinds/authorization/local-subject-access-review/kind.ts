import { LocalSubjectAccessReview } from "@dray/api/authorization/v1";
import { defineServedKind } from "../../define.ts";

export const localSubjectAccessReview = defineServedKind(LocalSubjectAccessReview, {
  facts: { createOnly: true },
});
