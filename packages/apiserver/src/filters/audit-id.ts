import type { ApiResponse } from "@dray/client";
import type { RequestNotes } from "../flowcontrol/limiter.ts";
import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/** Maximum length of a client's `Audit-ID`. */
const maxAuditIdLength = 64;

/**
 * Adds headers to the response: the id of the request, which is the client's own if it sends one, and the
 * FlowSchema and priority level by which it was classified. Responses in process have neither.
 *
 * Upstream: apiserver/pkg/endpoints/filters/audit_init.go, WithAuditInit
 */
export function withAuditId({ newId }: Pick<FilterParts, "newId">): Filter {
  return (next) => async (call) => {
    const response = await next(call);
    const { request } = call;
    if (request.credential.type === "user") return response;
    const id = request.headers["audit-id"]?.slice(0, maxAuditIdLength) || newId();
    return identified(id, response, call.notes);
  };
}

function identified(id: string, response: ApiResponse, { flow }: RequestNotes): ApiResponse {
  const headers: Record<string, string | readonly string[]> = { "audit-id": id, ...response.headers };
  if (flow !== undefined) {
    headers["x-kubernetes-pf-flowschema-uid"] = flow.uid;
    headers["x-kubernetes-pf-prioritylevel-uid"] = flow.level.uid;
  }
  return { ...response, headers };
}
