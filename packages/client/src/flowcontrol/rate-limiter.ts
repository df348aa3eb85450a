import type { Clock } from "../base/clock.ts";

/** Decides how long to wait before a key is retried. Upstream: client-go, workqueue.TypedRateLimiter. */
export interface RateLimiter {
  /** Returns milliseconds to wait, and counts one more failure of the key. */
  when(key: string): number;
  /** Resets a key that has succeeded or is no longer needed. */
  forget(key: string): void;
  /** Returns the number of failures of the key since it was forgotten. */
  failures(key: string): number;
}

/** `baseDelay` milliseconds, doubled with each failure of the same key, up to `maxDelay`. */
export function exponentialBackoff(baseDelay: number, maxDelay: number): RateLimiter {
  const failures = new Map<string, number>();
  return {
    when(key) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      return Math.min(maxDelay, baseDelay * 2 ** count);
    },
    forget: (key) => void failures.delete(key),
    failures: (key) => failures.get(key) ?? 0,
  };
}

/** For all keys together: `burst` at once, then `perSecond` each second. Upstream: golang.org/x/time/rate. */
export function tokenBucket(clock: Clock, perSecond: number, burst: number): RateLimiter {
  const interval = 1000 / perSecond;
  let tokens = burst;
  let updated = clock.now();
  return {
    when() {
      const now = clock.now();
      // A clock that is set back neither adds nor removes tokens.
      tokens = Math.min(burst, tokens + Math.max(0, now - updated) / interval);
      updated = now;
      tokens--;
      return tokens >= 0 ? 0 : -tokens * interval;
    },
    forget() {},
    failures: () => 0,
  };
}

/** The longest delay of several limiters, each of which counts. Upstream: workqueue.TypedMaxOfRateLimiter. */
export function maxOf(...limiters: readonly RateLimiter[]): RateLimiter {
  return {
    when: (key) => Math.max(...limiters.map((limiter) => limiter.when(key))),
    forget(key) {
      for (const limiter of limiters) limiter.forget(key);
    },
    failures: (key) => Math.max(...limiters.map((limiter) => limiter.failures(key))),
  };
}

/**
 * The default of controllers: for each key 5 ms, doubled up to 1000 s, and for all keys together 10 retries a
 * second after the first 100. Upstream: workqueue.DefaultTypedControllerRateLimiter.
 */
export function controllerRateLimiter(clock: Clock, baseDelay = 5, maxDelay = 1_000_000): RateLimiter {
  return maxOf(exponentialBackoff(baseDelay, maxDelay), tokenBucket(clock, 10, 100));
}
