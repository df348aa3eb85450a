import { LocalSubjectAccessReview } from "@dray/api/authorization/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const localSubjectAccessReview: ServedKind<LocalSubjectAccessReview> = defineServedKind(
  LocalSubjectAccessReview,
  {
    facts: { createOnly: true },
  },
);
