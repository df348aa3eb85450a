import { SelfSubjectRulesReview } from "@dray/api/authorization/v1";
import { defineServedKind } from "../../define.ts";

export const selfSubjectRulesReview = defineServedKind(SelfSubjectRulesReview, {
  facts: { createOnly: true },
});
