import { SelfSubjectReview } from "@dray/api/authentication/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const selfSubjectReview: ServedKind<SelfSubjectReview> = defineServedKind(SelfSubjectReview, {
  facts: { createOnly: true },
});
