import assert from "node:assert/strict";
import type { KubeObject } from "@dray/api";
import type { Client, ResourceClient } from "@dray/client";
import { type Controller, type ControllerContext, createInformers } from "@dray/controllers";
import { type TestCluster, type TestOptions, withCluster } from "./cluster.ts";

/** A controller that is killed, and what it leaves to the next one. */
export interface Crash {
  /** Creates the objects that exist before the controller starts. */
  before(cluster: TestCluster): Promise<void>;
  /** Reports whether its work is done. */
  done(cluster: TestCluster): Promise<boolean>;
  /** Checks the final state. */
  after?(cluster: TestCluster): Promise<void>;
}

/** Maximum number of writes of one piece of work. */
const maxWrites = 20;

/**
 * Kills a controller before its first write, before its second, and so on until the allowed writes suffice;
 * each time another one starts on what is left and has to bring the work to its end. Events do not count as
 * writes.
 */
export async function afterEachCrash(
  start: (context: ControllerContext) => Promise<Controller>,
  { before, done, after }: Crash,
  options: TestOptions = {},
): Promise<void> {
  let deaths = 0;
  for (let allowed = 0; allowed < maxWrites; allowed++) {
    let died = false;
    const run = async (cluster: TestCluster): Promise<void> => {
      await before(cluster);
      const stop = new AbortController();
      const client = crashing(cluster.context.client, allowed, () => {
        died = true;
        stop.abort();
      });
      const signal = AbortSignal.any([stop.signal, cluster.context.signal]);
      const first = await start({ ...cluster.context, client, signal, informers: createInformers(client) });
      await cluster.until(`dead or done after ${allowed} writes`, async () => died || (await done(cluster)));
      await cluster.settle();
      stop.abort();
      await first.stopped;
      await start(cluster.context);
      await cluster.until(`done although killed before write ${allowed + 1}`, () => done(cluster));
      await cluster.settle();
      await after?.(cluster);
    };
    await withCluster(async () => {}, run, options);
    if (!died) break;
    deaths++;
  }
  assert.ok(deaths > 0 && deaths < maxWrites, `${deaths} deaths`);
}

const writes = new Set<string | symbol>([
  "apply",
  "create",
  "delete",
  "deleteCollection",
  "patch",
  "post",
  "update",
]);

/** A client whose owner dies when it is about to write once more than allowed. */
function crashing(client: Client, allowed: number, die: () => void): Client {
  let written = 0;
  const guarded = <T extends KubeObject>(resource: ResourceClient<T>): ResourceClient<T> =>
    new Proxy(resource, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        if (!writes.has(name)) return method.bind(target);
        return async (...args: unknown[]) => {
          if (written >= allowed) {
            die();
            throw new Error("killed");
          }
          written++;
          return method.apply(target, args);
        };
      },
    });
  return {
    ...client,
    resource: (kind, options) => {
      const resource = client.resource(kind, options);
      return kind.resource === "events" ? resource : guarded(resource);
    },
    informer: (kind, options) => client.informer(kind, options),
  };
}
