import { SelfSubjectReview } from "@dray/api/authentication/v1";
import { defineServedKind } from "../../define.ts";

export const selfSubjectReview = defineServedKind(SelfSubjectReview, {
  facts: { createOnly: true },
});
