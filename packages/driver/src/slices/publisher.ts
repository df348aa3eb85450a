import { StatusError } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import { type Client, type Clock, type Log, sleep } from "@dray/client";
import type { Pool } from "../driver.ts";
import { DroppedFieldsError, type ErrorContext, type ErrorDecision, PoolError } from "../errors.ts";
import { aborted } from "../shared/aborted.ts";
import { checkPools } from "../shared/shapes.ts";
import { divide, planPool, type SliceContent, type SliceScope } from "./slices.ts";
import { StoredSlices } from "./stored.ts";

export interface PublisherOptions {
  readonly client: Client;
  readonly driver: string;
  readonly scope: SliceScope;
  readonly clock: Clock;
  readonly log: Log;
  /** Is told of errors; with "end", `run` rejects with the error. */
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
  /** What is to be published from now on. Throws a PoolError, and changes nothing, for what cannot be. */
  publish(pools: readonly Pool[]): void;
  /** Works until the signal aborts; slices stay then, the kubelet removes them 30 s after the driver has gone. */
  run(signal: AbortSignal): Promise<void>;
  readonly statistics: SliceStatistics;
}

interface WantedPool {
  readonly contents: readonly SliceContent[];
  readonly generation: number | undefined;
}

/** Milliseconds to wait after others changed our slices: they may be at it still. */
const repairDelay = 1000;
const retryDelays = { first: 500, last: 30_000 };

export function createPublisher(options: PublisherOptions): Publisher {
  const { client, driver, scope, clock, log, decide } = options;
  const nodeName = "nodeName" in scope ? scope.nodeName : undefined;
  const slices = client.resource(ResourceSlice);
  const informer = client.informer(ResourceSlice, {
    fieldSelector: `spec.driver=${driver},spec.nodeName=${nodeName ?? ""}`,
  });
  /** By pool; undefined until the driver has said something. */
  let wanted: ReadonlyMap<string, WantedPool> | undefined;
  const statistics = { creates: 0, updates: 0, deletes: 0 };
  const storedSlices = new StoredSlices();
  const own = createOwnWrites();
  /** What the driver is to be told after the sync. */
  const dropped: DroppedFieldsError[] = [];
  const alarm = createAlarm(clock);

  const adopt = (sent: SliceContent, stored: ResourceSlice): void => {
    own.wrote(stored);
    const gates = storedSlices.adopt(sent, stored);
    if (gates.length === 0) return;
    const { name } = stored.metadata;
    log.error(
      { slice: name, gates },
      "The API server dropped fields of a ResourceSlice: feature gates are off",
    );
    dropped.push(new DroppedFieldsError(stored.spec.pool.name, name, gates));
  };

  const syncPool = async (pool: string, { contents, generation }: WantedPool, existing: ResourceSlice[]) => {
    const same = storedSlices.same.bind(storedSlices);
    const plan = planPool({ driver, scope, pool, generation, existing, wanted: contents, same });
    for (const slice of plan.deletes) await remove(slice);
    for (const { slice, spec } of plan.updates) {
      const stored = await slices.update({ ...slice, spec });
      statistics.updates++;
      adopt(spec, stored);
    }
    if (plan.creates.length === 0) return;
    const ownerReferences = await owners();
    for (const { generateName, spec } of plan.creates) {
      const stored = await slices.create({ metadata: { generateName, ...ownerReferences }, spec });
      statistics.creates++;
      adopt(spec, stored);
    }
  };

  const owners = async (): Promise<Pick<ResourceSlice["metadata"], "ownerReferences">> => {
    if (!("nodeName" in scope)) {
      const { owner } = scope;
      return owner === undefined ? {} : { ownerReferences: [{ ...owner, controller: true }] };
    }
    // Asked for each time: a node that was deleted and came back has another UID.
    const { uid, name } = (await client.resource(Node).get({ name: scope.nodeName })).metadata;
    return { ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid, controller: true }] };
  };

  const remove = async (slice: ResourceSlice): Promise<void> => {
    const { name, uid, resourceVersion } = slice.metadata;
    try {
      await slices.delete({ name }, { preconditions: { uid, resourceVersion } });
      statistics.deletes++;
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
    own.ended(slice);
  };

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
    for (const slice of existing) if (!pools.has(slice.spec.pool.name)) await attempt(() => remove(slice));
    for (const [pool, contents] of pools) await attempt(() => syncPool(pool, contents, of(pool)));
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
      // What the server refused may be corrected now.
      alarm.resume();
      alarm.ring(0);
    },
    async run(signal) {
      informer.handle({
        add: (slice) => {
          own.seen(slice);
          alarm.ring(repairDelay);
        },
        update: (slice) => {
          own.seen(slice);
          alarm.ring(repairDelay);
        },
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
        for (const error of [...dropped.splice(0), ...failures])
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

/**
 * Our own writes, until the informer has seen them: without this a second look right after a create would create
 * again.
 */
function createOwnWrites() {
  const written = new Map<string, ResourceSlice>();
  /** UIDs that never come back; the news of an end may overtake the answer to the write before it. */
  const ended = new Set<string>();
  return {
    wrote(slice: ResourceSlice): void {
      if (!ended.has(slice.metadata.uid)) written.set(slice.metadata.uid, slice);
    },
    seen(slice: ResourceSlice): void {
      const mine = written.get(slice.metadata.uid);
      if (mine !== undefined && revision(slice) >= revision(mine)) written.delete(slice.metadata.uid);
    },
    ended(slice: ResourceSlice): void {
      written.delete(slice.metadata.uid);
      ended.add(slice.metadata.uid);
    },
    over(listed: readonly ResourceSlice[]): ResourceSlice[] {
      const all = new Map(listed.map((slice) => [slice.metadata.uid, slice]));
      for (const [uid, slice] of written) {
        const other = all.get(uid);
        if (other === undefined || revision(other) < revision(slice)) all.set(uid, slice);
      }
      return [...all.values()].filter(({ metadata }) => !ended.has(metadata.uid));
    },
  };
}

function revision(slice: ResourceSlice): bigint {
  return BigInt(slice.metadata.resourceVersion);
}

/** Rings once at the earliest of the times that it was set to, but not while it is paused. */
function createAlarm(clock: Clock) {
  let due = Number.POSITIVE_INFINITY;
  let pausedUntil = 0;
  let wake: (() => void) | undefined;
  return {
    ring(delay: number): void {
      due = Math.min(due, clock.now() + delay);
      wake?.();
    },
    reset(): void {
      due = Number.POSITIVE_INFINITY;
    },
    /** Rings after `delay`, not earlier whatever it is set to, but for `resume`. */
    pause(delay: number): void {
      pausedUntil = clock.now() + delay;
      due = pausedUntil;
    },
    resume(): void {
      pausedUntil = 0;
    },
    async rings(signal: AbortSignal): Promise<void> {
      const left = (): number => Math.max(due, pausedUntil) - clock.now();
      while (!signal.aborted && left() > 0) {
        const changed = new AbortController();
        wake = () => changed.abort();
        const either = AbortSignal.any([signal, changed.signal]);
        if (due === Number.POSITIVE_INFINITY) await aborted(either);
        else await sleep(clock, left(), either);
      }
      wake = undefined;
    },
  };
}
