import { TokenReview } from "@dray/api/authentication/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const tokenReview: ServedKind<TokenReview> = defineServedKind(TokenReview, {
  facts: { createOnly: true },
});
