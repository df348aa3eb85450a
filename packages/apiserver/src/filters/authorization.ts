import type { ApiRequest, UserInfo } from "@dray/client";
import { forbiddenError, requestAttributes } from "../authorization/attributes.ts";
import type { RequestInfo } from "../request/info.ts";
import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

type Parts = Pick<FilterParts, "authorize" | "log">;

/**
 * Throws 403 if the user is not allowed to do this. Upstream:
 * apiserver/pkg/endpoints/filters/authorization.go, WithAuthorization
 */
export function withAuthorization(parts: Parts): Filter {
  return (next) => (call) => {
    checkAuthorized(parts, call.request, call.user, call.info);
    return next(call);
  };
}

/** Throws 403. */
export function checkAuthorized(
  { authorize, log }: Parts,
  request: Pick<ApiRequest, "method" | "url">,
  user: UserInfo,
  info: RequestInfo,
): void {
  const attributes = requestAttributes(user, info);
  const decision = authorize(attributes);
  if (decision.allowed) return;
  log.debug({ user: user.name, method: request.method, url: request.url }, "forbidden");
  throw forbiddenError(attributes, decision.reason);
}
