import { StatusError } from "@dray/api";
import { type Clock, ConnectionError, sleep } from "@dray/client";

const firstDelay = 100;
const longestDelay = 10_000;

/** Repeats a request until the server answers it. The signal ends that. */
export type UntilAnswered = <T>(request: () => Promise<T>) => Promise<T>;

/**
 * What a write did whose answer was lost is not known, and devices must not go to others as long as that is so.
 * Therefore a request that got no answer, or that the server was in no state to handle, is repeated, at intervals
 * from 100 ms to 10 s; every other outcome is handed on.
 */
export function untilAnswered(clock: Clock, signal: AbortSignal): UntilAnswered {
  return async (request) => {
    for (let delay = firstDelay; ; delay = Math.min(delay * 2, longestDelay)) {
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
