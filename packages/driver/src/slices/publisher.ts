import { ResourceSlice } from "@dray/api/resource/v1";
import type { Client, Clock, Log } from "@dray/client";
import { checkPools } from "../shared/shapes.ts";
import type { Pool } from "../types/driver.ts";
import { type ErrorContext, type ErrorDecision, PoolError } from "../types/errors.ts";
import { createAlarm } from "./alarm.ts";
import { divide, type SliceScope } from "./slices.ts";
import { SliceWriter, type WantedPool } from "./writer.ts";

export interface PublisherOptions {
  readonly client: Client;
  readonly driver: string;
  readonly scope: SliceScope;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each error; with "end", `run` rejects with the error. */
  readonly decide: (error: Error, context: ErrorContext) => ErrorDecision;
  /** Called whenever all pools are published as they should be. */
  readonly onPublished?: ((statistics: SliceStatistics) => void) | undefined;
}

/** Writes of ResourceSlices since the start. */
export interface SliceStatistics {
  readonly creates: number;
  readonly updates: number;
  readonly deletes: number;
}

/** Keeps the ResourceSlices of one driver on one node, or those without a node, as they should be. */
export interface Publisher {
  /** Replaces the pools. Throws a PoolError, and changes nothing, if they cannot be published. */
  publish(pools: readonly Pool[]): void;
  /**
   * Works until the signal aborts; slices stay then, the kubelet removes them 30 s after the driver has gone.
   */
  run(signal: AbortSignal): Promise<void>;
  readonly statistics: SliceStatistics;
}

/** Milliseconds to wait after others changed our slices: they may be at it still. */
const repairDelay = 1000;
const retryDelays = { first: 500, last: 30_000 };

export function createPublisher(options: PublisherOptions): Publisher {
  const { client, driver, scope, clock, log, decide } = options;
  const nodeName = "nodeName" in scope ? scope.nodeName : undefined;
  const informer = client.informer(ResourceSlice, {
    fieldSelector: `spec.driver=${driver},spec.nodeName=${nodeName ?? ""}`,
  });
  /** By pool; undefined until the driver has yielded pools. */
  let wanted: ReadonlyMap<string, WantedPool> | undefined;
  const writer = new SliceWriter({ client, driver, scope, log });
  const { own, statistics } = writer;
  const alarm = createAlarm(clock);

  /** Returns what failed: one pool that the server refuses must not keep the others from being published. */
  const sync = async (): Promise<Error[]> => {
    const pools = wanted;
    if (pools === undefined) return [];
    const failures: Error[] = [];
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        failures.push(error as Error);
      }
    };
    const existing = own.over(informer.list());
    const of = (pool: string) => existing.filter(({ spec }) => spec.pool.name === pool);
    for (const slice of existing)
      if (!pools.has(slice.spec.pool.name)) await attempt(() => writer.remove(slice));
    for (const [pool, contents] of pools) await attempt(() => writer.writePool(pool, contents, of(pool)));
    return failures;
  };

  return {
    statistics,
    publish(pools) {
      checkPools(pools);
      const next = new Map<string, WantedPool>();
      for (const [i, pool] of pools.entries()) {
        const name = pool.name ?? nodeName;
        if (name === undefined)
          throw new PoolError(`pools[${i}].name: required, since the pool is not a node's`);
        if (next.has(name)) throw new PoolError(`pool ${JSON.stringify(name)} is there twice`);
        next.set(name, { contents: divide(pool, scope), generation: pool.generation });
      }
      wanted = next;
      // The reason of a rejection may be gone now.
      alarm.resume();
      alarm.ring(0);
    },
    async run(signal) {
      const seen = (slice: ResourceSlice): void => {
        own.seen(slice);
        alarm.ring(repairDelay);
      };
      informer.handle({
        add: seen,
        update: seen,
        delete: (slice) => {
          own.ended(slice);
          alarm.ring(repairDelay);
        },
      });
      await informer.start(signal);
      let retry = retryDelays.first;
      while (!signal.aborted) {
        alarm.reset();
        const tried = wanted;
        const failures = await sync();
        if (signal.aborted) return;
        for (const error of failures)
          log.error({ error: error.message, retry }, "Publishing ResourceSlices failed");
        for (const error of [...writer.takeDropped(), ...failures])
          if (decide(error, { during: "publish", fatal: false }) === "end") throw error;
        if (failures.length === 0) {
          retry = retryDelays.first;
          if (tried !== undefined) options.onPublished?.({ ...statistics });
        } else if (wanted === tried) {
          alarm.pause(retry);
          retry = Math.min(retry * 2, retryDelays.last);
        }
        await alarm.rings(signal);
        if (wanted !== tried) retry = retryDelays.first;
      }
    },
  };
}
