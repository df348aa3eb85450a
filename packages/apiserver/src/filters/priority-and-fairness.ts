import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/**
 * Waits for a seat, and responds with 429 if no seat is available: by API Priority and Fairness, or by the
 * two max-in-flight limits.
 *
 * Upstream: apiserver/pkg/server/filters/priority-and-fairness.go, WithPriorityAndFairness; maxinflight.go
 */
export function withPriorityAndFairness({ clock, limiter }: Pick<FilterParts, "clock" | "limiter">): Filter {
  return (next) => (call) => {
    const since = clock.now();
    return limiter.run(call, (watch) => {
      call.waited = clock.now() - since;
      call.watch = watch;
      return next(call);
    });
  };
}
