import type { Clock } from "@dray/client";

/**
 * Admits `perSecond` requests a second, and `burst` at once; the others are refused and do not count.
 *
 * Upstream: pkg/kubelet/apis/grpc/ratelimit.go (golang.org/x/time/rate, Allow).
 */
export function requestLimiter(clock: Clock, perSecond: number, burst: number): () => boolean {
  let tokens = burst;
  let counted = clock.now();
  return () => {
    const now = clock.now();
    // A clock that is set back makes no tokens, and takes none away.
    tokens = Math.min(burst, tokens + (Math.max(0, now - counted) / 1000) * perSecond);
    counted = now;
    if (tokens < 1) return false;
    tokens--;
    return true;
  };
}
