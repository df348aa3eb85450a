import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/**
 * Waits for a seat, and responds with 429 if no seat is available: by API Priority and Fairness, or by the
 * two max-in-flight limits.
 *
 * Upstream: apiserver/pkg/server/filters/priority-and-fairness.go, WithPriorityAndFairness; maxinflight.go
 */
export function withPriorityAndFairness({ clock, limiter }: Pick<FilterParts, "clock" | "limiter">): Filter {
  return (next) => async (call) => {
    const since = clock.now();
    let seated = false;
    const response = await limiter.run(call, (watch) => {
      seated = true;
      call.waited = clock.now() - since;
      call.watch = watch;
      return next(call);
    });
    if (!seated) call.terminated = true;
    return response;
  };
}
