import { failureResponse } from "../encoding/failure.ts";
import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/**
 * Responds with a Status if an inner handler throws. Upstream: apiserver/pkg/server/filters/wrap.go,
 * WithPanicRecovery
 */
export function withFailures({ log }: Pick<FilterParts, "log">): Filter {
  return (next) => async (call) => {
    const { request } = call;
    try {
      return await next(call);
    } catch (error) {
      return failureResponse(request, error, call.notes.warnings, log);
    }
  };
}
