import { randomUUID } from "node:crypto";
import { featuresOf, parseKubernetesVersion } from "@dray/api";
import { Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { createServer } from "@dray/apiserver";
import { type Client, type Clock, createClient, type Log } from "@dray/client";
import { memoryStore } from "@dray/store";
import { eventuallyPasses } from "@dray/testing/eventually";
import { runSimulatedNodes, type SimulatedNode, type SimulatedNodesOptions } from "../simulated/index.ts";

/** A real API server in this process with a fake clock, which simulated nodes share. */
export interface SimulatedCluster {
  readonly admin: Client;
  readonly clock: Clock;
  /** Logged warnings and errors. */
  readonly complaints: readonly string[];
  /** Number of requests of simulated nodes since the last call, by method and resource. */
  takeRequests(): Map<string, number>;
  /** Advances the clock in steps, and does everything that is due in between. */
  pass(milliseconds: number): Promise<void>;
  /** Resolves when the nodes are registered, with a function that ends the simulation. */
  simulate(
    nodes: readonly SimulatedNode[],
    more?: Partial<SimulatedNodesOptions>,
  ): Promise<() => Promise<void>>;
  /** Waits for a pod to be as wanted. */
  pod(name: string, wanted: (pod: Pod) => boolean): Promise<Pod>;
  node(name: string): Promise<Node>;
  close(): Promise<void>;
}

const step = 500;

export async function simulatedCluster(): Promise<SimulatedCluster> {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const timers = new Set<{ at: number; run: () => void }>();
  const clock: Clock = {
    now: () => now,
    after(milliseconds, run) {
      const timer = { at: now + milliseconds, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
  const store = memoryStore(clock);
  const server = await createServer({ store, clock, elapsed: () => 0, newId: randomUUID });
  const connect = (name: string): Client => {
    const transport = server.transport({ name, groups: ["system:masters", "system:authenticated"] });
    return createClient({ transport, userAgent: name, clock });
  };
  const admin = connect("admin");
  // The API server would wait for it before it admits a pod.
  await admin.resource(ServiceAccount).create({ metadata: { namespace: "default", name: "default" } });
  const complaints: string[] = [];
  const complain = (fields: object, message: string): void =>
    void complaints.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug() {}, info() {}, warn: complain, error: complain };
  const requests = new Map<string, number>();
  const running = new Set<() => Promise<void>>();
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  };

  return {
    admin,
    clock,
    complaints,
    takeRequests() {
      const taken = new Map(requests);
      requests.clear();
      return taken;
    },
    async pass(milliseconds) {
      for (const end = now + milliseconds; now < end; ) {
        now = Math.min(end, now + step);
        for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.run();
        await settle();
      }
    },
    async simulate(nodes, more = {}) {
      const stop = new AbortController();
      const registered = Promise.withResolvers<void>();
      const client = counting(connect("simulated"), requests);
      const features = featuresOf(parseKubernetesVersion(undefined), new Map());
      const done = runSimulatedNodes({
        ...{ client, clock, log, features, nodes, random: () => 0.5 },
        address: "127.0.0.1",
        signal: stop.signal,
        registered: registered.resolve,
        ...more,
      });
      const end = async (): Promise<void> => {
        running.delete(end);
        stop.abort();
        await done;
      };
      running.add(end);
      await Promise.race([registered.promise, done]);
      return end;
    },
    pod: (name, wanted) =>
      eventuallyPasses(async () => {
        const pod = await admin.resource(Pod).get({ namespace: "default", name });
        if (!wanted(pod)) throw new Error(`pod ${name} is ${JSON.stringify(pod.status, null, 1)}`);
        return pod;
      }, 5000),
    node: (name) => admin.resource(Node).get({ name }),
    async close() {
      for (const end of running) await end();
      await server.close();
      await store.close();
    },
  };
}

/** Counts the writes of a client: `patch leases`. */
function counting(client: Client, counts: Map<string, number>): Client {
  return {
    ...client,
    resource(kind, options) {
      const inner = client.resource(kind, options);
      const counted = <A extends unknown[], R>(verb: string, call: (...given: A) => R) => {
        const key = `${verb} ${kind.resource}`;
        return (...given: A): R => {
          counts.set(key, (counts.get(key) ?? 0) + 1);
          return call(...given);
        };
      };
      return {
        ...inner,
        create: counted("create", inner.create),
        patch: counted("patch", inner.patch),
        update: counted("update", inner.update),
        delete: counted("delete", inner.delete),
      };
    },
  };
}
