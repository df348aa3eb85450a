import { StatusError } from "@dray/api";
import { type Clock, ConnectionError, sleep } from "@dray/client";

const firstDelay = 100;
const maxDelay = 10_000;

/** Repeats a request until the server responds, or the signal aborts. */
export type RetryUnanswered = <T>(request: () => Promise<T>) => Promise<T>;

/**
 * A write whose response was lost has an unknown outcome, and its devices must not be allocated to others
 * meanwhile. Therefore a request without a response, or that the server could not handle (503, 504), is
 * repeated, at intervals from 100 ms to 10 s; every other outcome is passed through.
 */
export function retryUnanswered(clock: Clock, signal: AbortSignal): RetryUnanswered {
  return async (request) => {
    for (let delay = firstDelay; ; delay = Math.min(delay * 2, maxDelay)) {
      try {
        return await request();
      } catch (error) {
        const unanswered =
          error instanceof ConnectionError ||
          (error instanceof StatusError && (error.code === 503 || error.code === 504));
        if (!unanswered || signal.aborted) throw error;
        await sleep(clock, delay, signal);
      }
    }
  };
}
