import { SelfSubjectAccessReview } from "@dray/api/authorization/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const selfSubjectAccessReview: ServedKind<SelfSubjectAccessReview> = defineServedKind(
  SelfSubjectAccessReview,
  {
    facts: { createOnly: true },
  },
);
