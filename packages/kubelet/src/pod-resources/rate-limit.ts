import type { Clock } from "@dray/client";

/**
 * Admits `perSecond` requests a second with a burst of `burst`; rejected ones do not count.
 *
 * Upstream: pkg/kubelet/apis/grpc/ratelimit.go (golang.org/x/time/rate, Allow).
 */
export function requestLimiter(clock: Clock, perSecond: number, burst: number): () => boolean {
  let tokens = burst;
  let counted = clock.now();
  return () => {
    const now = clock.now();
    // A clock that is set back neither adds nor removes tokens.
    tokens = Math.min(burst, tokens + (Math.max(0, now - counted) / 1000) * perSecond);
    counted = now;
    if (tokens < 1) return false;
    tokens--;
    return true;
  };
}
