import { TokenReview } from "@dray/api/authentication/v1";
import { defineServedKind } from "../../define.ts";

export const tokenReview = defineServedKind(TokenReview, {
  facts: { createOnly: true },
});
