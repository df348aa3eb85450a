import type { FieldErrors } from "../../../checks/field.ts";
import { TokenRequest } from "../../../generated/authentication/v1.ts";
import { defineKind } from "../../define.ts";

const tenMinutes = 10 * 60;
const maxSeconds = 2 ** 32;

function checkTokenRequest(errors: FieldErrors, { spec }: TokenRequest): void {
  const seconds = spec?.expirationSeconds;
  if (seconds === undefined || seconds === null) return;
  const here = errors.at("spec.expirationSeconds");
  if (seconds < tenMinutes) here.invalid(seconds, "may not specify a duration less than 10 minutes");
  if (seconds > maxSeconds) here.invalid(seconds, "may not specify a duration larger than 2^32 seconds");
}

/** A token lasts an hour by default. */
function defaultTokenRequest(request: TokenRequest): void {
  request.spec ??= { audiences: [] };
  request.spec.expirationSeconds ??= 60 * 60;
}

export const tokenRequest = defineKind(TokenRequest, {
  defaults: defaultTokenRequest,
  validation: { create: checkTokenRequest },
});
