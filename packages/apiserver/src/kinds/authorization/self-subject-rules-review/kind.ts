import { SelfSubjectRulesReview } from "@dray/api/authorization/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const selfSubjectRulesReview: ServedKind<SelfSubjectRulesReview> = defineServedKind(
  SelfSubjectRulesReview,
  {
    facts: { createOnly: true },
  },
);
