import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/**
 * Authenticates the request. Throws 401. Upstream: apiserver/pkg/endpoints/filters/authentication.go,
 * WithAuthentication
 */
export function withAuthentication({
  authenticator,
  clock,
  metrics,
}: Pick<FilterParts, "authenticator" | "clock" | "metrics">): Filter {
  return (next) => (call) => {
    const { credential } = call.request;
    call.user = authenticator.authenticate(credential);
    if (credential.type === "certificate" && credential.validUntil !== undefined)
      metrics.certificateUsed(credential.validUntil - clock.now());
    return next(call);
  };
}
