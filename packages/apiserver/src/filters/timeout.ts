import { respondWithin, timeLimit } from "../http/deadline.ts";
import { endsWith } from "../request/ends-with.ts";
import { isLongRunning } from "../request/long-running.ts";
import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/**
 * Responds with 504 when the timeout of a request is over. Long-running requests such as watches end when the
 * server stops.
 *
 * Upstream: apiserver/pkg/server/filters/timeout.go, WithTimeoutForNonLongRunningRequests;
 * apiserver/pkg/endpoints/filters/request_deadline.go, WithRequestDeadline
 */
export function withTimeout({
  clock,
  timeout,
  signal,
}: Pick<FilterParts, "clock" | "timeout" | "signal">): Filter {
  return (next) => async (call) => {
    const { request, info } = call;
    if (isLongRunning(info)) {
      call.limit = timeout;
      call.request = endsWith(request, signal);
      return next(call);
    }
    call.limit = timeLimit(info.query, timeout);
    let answered = false;
    const response = await respondWithin(clock, call.limit, request, async (timed) => {
      call.request = timed;
      const inTime = await next(call);
      answered = true;
      return inTime;
    });
    if (!answered) call.terminated = true;
    return response;
  };
}
