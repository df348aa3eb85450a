import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/** Counts responses, and measures the time until they begin. */
export function withRequestMetrics({
  clock,
  metrics,
  servedBy,
}: Pick<FilterParts, "clock" | "metrics" | "servedBy">): Filter {
  return (next) => async (call) => {
    const response = await next(call);
    const { request, parsed, began, waited, terminated } = call;
    const served = parsed && servedBy(parsed);
    metrics.count({
      method: request.method,
      info: parsed,
      served,
      code: response.status,
      milliseconds: clock.now() - began,
      waited,
      terminated,
    });
    return response;
  };
}
