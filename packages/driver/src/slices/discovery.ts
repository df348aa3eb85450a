import { type Clock, type Log, sleep } from "@dray/client";
import { aborted } from "../shared/aborted.ts";
import { wrongShape } from "../shared/shapes.ts";
import type { Driver, Pool } from "../types/driver.ts";
import { type ErrorContext, type ErrorDecision, PoolError } from "../types/errors.ts";
import type { Publisher } from "./publisher.ts";

/** Source of pools. */
export type DiscoverySource = Pick<Driver, "discover" | "onError">;

export type Decide = (error: Error, context: ErrorContext) => ErrorDecision;

/** Asks the author what follows an error. */
export function deciding(source: DiscoverySource): Decide {
  return (error, context) => source.onError?.(error, context) ?? (context.fatal ? "end" : "retry");
}

export interface DiscoveryOptions {
  readonly source: DiscoverySource;
  readonly publisher: Publisher;
  readonly decide: Decide;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Milliseconds between two calls of a `discover` that failed. */
const discoverDelays = { first: 1000, last: 30_000 } as const;

/** Publishes what `discover` yields, and calls it again when it failed and the author wants that. */
export async function followDiscovery(options: DiscoveryOptions): Promise<void> {
  const { source, publisher, decide, clock, log, signal } = options;
  let delay: number = discoverDelays.first;
  let ending: Error | undefined;
  const discovering = async (): Promise<void> => {
    const found: unknown = source.discover(signal);
    if (!isAsyncIterable(found)) {
      throw new TypeError(
        wrongShape(
          "discover()",
          found,
          "an async iterable of lists of pools: async *discover() { yield pools }",
        ),
      );
    }
    for await (const pools of found) {
      if (signal.aborted) return;
      try {
        publisher.publish(pools);
        delay = discoverDelays.first;
      } catch (error) {
        if (!(error instanceof PoolError)) throw error;
        // The last published pools stay; another call would have the same result.
        log.error({ error: error.message }, "The driver's pools cannot be published");
        if (decide(error, { during: "discover", fatal: false }) === "end") {
          ending = error;
          throw error;
        }
      }
    }
    await aborted(signal);
  };
  while (!signal.aborted) {
    try {
      // A driver need not heed the signal while it waits for news.
      await Promise.race([discovering(), aborted(signal)]);
    } catch (thrown) {
      if (signal.aborted) return;
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (error === ending || decide(error, { during: "discover", fatal: true }) === "end") throw error;
      log.error({ error: error.message, retry: delay }, "Discovering devices failed");
      await sleep(clock, delay, signal);
      delay = Math.min(delay * 2, discoverDelays.last);
    }
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<readonly Pool[]> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
