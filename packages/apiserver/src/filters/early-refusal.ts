import type { ApiRequest, ApiResponse } from "@dray/client";
import { impersonate } from "../authentication/impersonate.ts";
import { requestAttributes } from "../authorization/attributes.ts";
import { failureResponse } from "../encoding/failure.ts";
import { requestInfo } from "../request/info.ts";
import { checkAuthorized } from "./authorization.ts";
import type { FilterParts } from "./parts.ts";

const noWarnings: ReadonlySet<string> = new Set();

/**
 * Returns the response to a request that is rejected before its body is read: the user may not send it.
 * Undefined for other requests.
 */
export function earlyRefusal(parts: FilterParts, head: ApiRequest): ApiResponse | undefined {
  const { authenticator, authorize, constrainedImpersonation, log } = parts;
  try {
    const info = requestInfo(head.method, head.url);
    const sender = authenticator.authenticate(head.credential);
    const attributes = requestAttributes(sender, info);
    const user = impersonate(attributes, head, authorize, constrainedImpersonation);
    checkAuthorized(parts, head, user, info);
    return undefined;
  } catch (error) {
    return failureResponse(head, error, noWarnings, log);
  }
}
