import { impersonate } from "../authentication/impersonate.ts";
import { requestAttributes } from "../authorization/attributes.ts";
import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/**
 * Replaces the requesting user by the impersonated one. Throws 400 and 403.
 *
 * Upstream: apiserver/pkg/endpoints/filters/impersonation, WithConstrainedImpersonation
 */
export function withImpersonation({
  authorize,
  constrainedImpersonation,
}: Pick<FilterParts, "authorize" | "constrainedImpersonation">): Filter {
  return (next) => (call) => {
    const attributes = requestAttributes(call.user, call.info);
    call.user = impersonate(attributes, call.request, authorize, constrainedImpersonation);
    return next(call);
  };
}
