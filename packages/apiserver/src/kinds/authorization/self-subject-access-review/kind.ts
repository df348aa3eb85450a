import { SelfSubjectAccessReview } from "@dray/api/authorization/v1";
import { defineServedKind } from "../../define.ts";

export const selfSubjectAccessReview = defineServedKind(SelfSubjectAccessReview, {
  facts: { createOnly: true },
});
