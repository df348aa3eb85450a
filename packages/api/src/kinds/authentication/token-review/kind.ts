import type { FieldErrors } from "../../../checks/field.ts";
import { TokenReview } from "../../../generated/authentication/v1.ts";
import { defineKind } from "../../define.ts";

function checkTokenReview(_errors: FieldErrors, _review: TokenReview): void {
  // Any token may be asked about: an empty or foreign one is simply not authenticated.
}

export const tokenReview = defineKind(TokenReview, {
  validation: { create: checkTokenReview },
});
