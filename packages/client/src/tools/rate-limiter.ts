import type { Clock } from "../clock.ts";

/** Says how long to wait before a key is tried again, as client-go's workqueue.TypedRateLimiter. */
export interface RateLimiter {
  /** Milliseconds to wait now; each call counts as one more failure of the key. */
  when(key: string): number;
  /** The key has succeeded, or nobody cares any more. */
  forget(key: string): void;
  /** How often the key has failed since it was forgotten. */
  failures(key: string): number;
}

/** `firstDelay` milliseconds, doubled with each failure of the same key, up to `longestDelay`. */
export function exponentialBackoff(firstDelay: number, longestDelay: number): RateLimiter {
  const failures = new Map<string, number>();
  return {
    when(key) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      return Math.min(longestDelay, firstDelay * 2 ** count);
    },
    forget: (key) => void failures.delete(key),
    failures: (key) => failures.get(key) ?? 0,
  };
}

/** All keys together: `burst` at once, then `perSecond` in each second (golang.org/x/time/rate). */
export function tokenBucket(clock: Clock, perSecond: number, burst: number): RateLimiter {
  const interval = 1000 / perSecond;
  let tokens = burst;
  let counted = clock.now();
  return {
    when() {
      const now = clock.now();
      // A clock that is set back makes no tokens, and takes none away.
      tokens = Math.min(burst, tokens + Math.max(0, now - counted) / interval);
      counted = now;
      tokens--;
      return tokens >= 0 ? 0 : -tokens * interval;
    },
    forget() {},
    failures: () => 0,
  };
}

/** The longest wait of several limiters; each of them counts. */
export function longestOf(...limiters: readonly RateLimiter[]): RateLimiter {
  return {
    when: (key) => Math.max(...limiters.map((limiter) => limiter.when(key))),
    forget(key) {
      for (const limiter of limiters) limiter.forget(key);
    },
    failures: (key) => Math.max(...limiters.map((limiter) => limiter.failures(key))),
  };
}

/**
 * What controllers use (client-go's DefaultTypedControllerRateLimiter): for each key 5 ms, doubled up to 1000 s, and
 * for all keys together 10 repetitions a second after the first 100.
 */
export function controllerRateLimiter(clock: Clock, firstDelay = 5, longestDelay = 1_000_000): RateLimiter {
  return longestOf(exponentialBackoff(firstDelay, longestDelay), tokenBucket(clock, 10, 100));
}
