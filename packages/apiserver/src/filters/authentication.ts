import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/**
 * Authenticates the request. Throws 401. Upstream: apiserver/pkg/endpoints/filters/authentication.go,
 * WithAuthentication
 */
export function withAuthentication({ authenticator }: Pick<FilterParts, "authenticator">): Filter {
  return (next) => (call) => {
    call.user = authenticator.authenticate(call.request.credential);
    return next(call);
  };
}
