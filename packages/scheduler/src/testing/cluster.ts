import { randomUUID } from "node:crypto";
import { featuresOf, type Kind, type KubeObject, type KubernetesVersion, parseFeatureGates } from "@dray/api";
import { Event, Namespace, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { createServer } from "@dray/apiserver";
import {
  type Client,
  type Clock,
  ConnectionError,
  createClient,
  type Log,
  type Transport,
} from "@dray/client";
import { type Scheduler, type SchedulerOptions, startScheduler } from "@dray/scheduler";
import { memoryStore } from "@dray/store";

/** Time that passes when the test says so. */
export interface HandClock extends Clock {
  pass(milliseconds: number): void;
}

export function handClock(): HandClock {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    after(milliseconds, run) {
      const timer = { at: now + milliseconds, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(milliseconds) {
      const end = now + milliseconds;
      for (;;) {
        const next = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.run();
      }
      now = end;
    },
  };
}

export interface RunningScheduler {
  readonly scheduler: Scheduler;
  /** Ends it as a signal would: what it has begun is finished. */
  stop(): Promise<void>;
  /** Ends it as a crash would: from now on it reads and writes nothing. */
  kill(): void;
  /** From now on the server does what it is asked, but the answers to such requests are lost; undefined: no more. */
  loseAnswers(which: ((method: string, url: string) => boolean) | undefined): void;
  /** Called after each request that the server has handled: the answer arrives when it is done. */
  beforeAnswers(run: (method: string, url: string) => Promise<void>): void;
  /** Holds back what watches of claims bring, until the answer is called. */
  holdClaims(): () => void;
}

/** An API server of its own, in this process, with a client that may do everything. */
export interface TestCluster {
  readonly client: Client;
  readonly clock: HandClock;
  /** What schedulers logged as warnings or errors. */
  readonly problems: string[];
  /** With the rights that the component has in a cluster, no more. */
  scheduler(
    before?: (method: string, url: string) => Promise<void>,
    more?: Partial<SchedulerOptions>,
  ): Promise<RunningScheduler>;
  /** Makes the object, in namespace `d` unless it says another. */
  create<T extends KubeObject>(kind: Kind<T>, object: object): Promise<T>;
  get<T extends KubeObject>(kind: Kind<T>, name: string): Promise<T>;
  list<T extends KubeObject>(kind: Kind<T>): Promise<readonly T[]>;
  node(name: string, more?: { labels?: object; spec?: object; allocatable?: object }): Promise<Node>;
  /** `more` is merged into the spec. */
  pod(name: string, more?: object, labels?: object): Promise<Pod>;
  /** Class `gpu`, which takes all devices. */
  gpuClass(name?: string, expression?: string): Promise<DeviceClass>;
  /** A slice of the node with so many devices. */
  slice(node: string, devices: number, driver?: string): Promise<ResourceSlice>;
  /** A claim for one device of class `gpu`. */
  claim(name: string, request?: object): Promise<ResourceClaim>;
  /** The pod ends, and what others do about its claim is done: it is gone, with its devices. */
  remove(pod: string, claim?: string): Promise<void>;
  deallocate(claim: string): Promise<void>;
  /** Waits until the pod has a node, and answers it. */
  bound(pod: string): Promise<string>;
  /** Waits until the pod is told why it has no node. */
  refused(pod: string, reason?: string): Promise<string>;
  /** `type reason message` of the events. */
  events(): Promise<string[]>;
  /** Waits until the function answers something that is not undefined or false; time of the clock passes meanwhile. */
  until<T>(what: string, check: () => Promise<T | undefined | false>): Promise<T>;
  /** Some turns, in which the clock stands still. */
  settle(): Promise<void>;
}

export interface TestClusterOptions {
  readonly version?: KubernetesVersion;
  /** As `--feature-gates` has them. */
  readonly gates?: string;
  /** As `--runtime-config` has it. */
  readonly runtimeConfig?: Readonly<Record<string, boolean>>;
}

export async function withCluster(
  test: (cluster: TestCluster) => Promise<void>,
  { version, gates = "", runtimeConfig }: TestClusterOptions = {},
): Promise<void> {
  const featureGates = parseFeatureGates(gates);
  const clock = handClock();
  const store = memoryStore(clock);
  const problems: string[] = [];
  const note = (fields: object, message: string): void => {
    const { err, ...rest } = fields as { err?: unknown };
    problems.push(`${message} ${JSON.stringify(rest)} ${err instanceof Error ? err.stack : ""}`);
  };
  const nothing = (): void => {};
  const log: Log = { debug: nothing, info: nothing, warn: note, error: note };
  const disabledAdmissionPlugins = ["ServiceAccount"];
  const server = await createServer({
    store,
    clock,
    log,
    newId: randomUUID,
    disabledAdmissionPlugins,
    featureGates,
    ...(version && { kubernetesVersion: version }),
    ...(runtimeConfig && { runtimeConfig }),
  });
  const user = (name: string, ...groups: string[]): Transport =>
    server.transport({ name, groups: [...groups, "system:authenticated"] });
  const client = createClient({ transport: user("admin", "system:masters"), userAgent: "admin", clock, log });
  const running: RunningScheduler[] = [];
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

  const cluster: TestCluster = {
    client,
    clock,
    problems,
    async scheduler(before, more = {}) {
      const inner = user("system:kube-scheduler");
      const stop = new AbortController();
      let dead = false;
      let lost: ((method: string, url: string) => boolean) | undefined;
      let held: Promise<void> | undefined;
      let release = nothing;
      const never = new Promise<never>(nothing);
      async function* delayed<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
        for await (const event of events) {
          await held;
          yield event;
        }
      }
      const transport: Transport = {
        async request(request) {
          if (dead) return never;
          const response = await inner.request(request);
          await before?.(request.method, request.url);
          if (dead) return never;
          if (response.type === "watch" && request.url.includes("/resourceclaims"))
            return { ...response, events: delayed(response.events) };
          if (lost?.(request.method, request.url)) throw new ConnectionError("the answer was lost");
          return response;
        },
        close: () => inner.close(),
      };
      const scheduler = await startScheduler({
        client: createClient({ transport, userAgent: "kube-scheduler", clock, log }),
        clock,
        log,
        newId: randomUUID,
        random: Math.random,
        features: featuresOf(version, featureGates),
        ...more,
        signal: stop.signal,
      });
      const control: RunningScheduler = {
        scheduler,
        async stop() {
          stop.abort();
          release();
          if (!dead) await scheduler.stopped;
        },
        kill() {
          dead = true;
          stop.abort();
        },
        loseAnswers(which) {
          lost = which;
        },
        beforeAnswers(run) {
          before = run;
        },
        holdClaims() {
          const { promise, resolve } = Promise.withResolvers<void>();
          held = promise;
          release = resolve;
          return resolve;
        },
      };
      running.push(control);
      return control;
    },
    create(kind, object) {
      const { metadata, ...rest } = object as { metadata: object };
      const placed = kind.namespaced ? { namespace: "d", ...metadata } : metadata;
      return client.resource(kind).create({ ...rest, metadata: placed } as never);
    },
    get: (kind, name) => client.resource(kind).get(kind.namespaced ? { namespace: "d", name } : { name }),
    async list(kind) {
      return (await client.resource(kind).list(kind.namespaced ? { namespace: "d" } : {})).items;
    },
    async node(name, { labels = {}, spec = {}, allocatable = {} } = {}) {
      const amounts = { cpu: "4", memory: "8Gi", pods: "110", ...allocatable };
      await cluster.create(Node, {
        metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
        spec,
      });
      // Admission has tainted it as not ready.
      const { taints = null } = spec as { taints?: object[] };
      await client.resource(Node).patch({ name }, "merge", { spec: { taints } });
      return client
        .resource(Node)
        .patch(
          { name },
          "merge",
          { status: { capacity: amounts, allocatable: amounts } },
          { subresource: "status" },
        );
    },
    pod(name, more = {}, labels = {}) {
      const spec = { containers: [{ name: "c", image: "i" }], ...more };
      return cluster.create(Pod, { metadata: { name, labels }, spec });
    },
    gpuClass: (name = "gpu", expression = "true") =>
      cluster.create(DeviceClass, { metadata: { name }, spec: { selectors: [{ cel: { expression } }] } }),
    slice: (node, devices, driver = "gpu.example.com") =>
      cluster.create(ResourceSlice, {
        metadata: { name: `${node}-gpus` },
        spec: {
          driver,
          nodeName: node,
          pool: { name: node, generation: 1, resourceSliceCount: 1 },
          devices: Array.from({ length: devices }, (_, i) => ({ name: `gpu-${i}` })),
        },
      }),
    claim: (name, request = { exactly: { deviceClassName: "gpu" } }) =>
      cluster.create(ResourceClaim, {
        metadata: { name },
        spec: { devices: { requests: [{ name: "gpu", ...request }] } },
      }),
    async remove(pod, claim) {
      await client.resource(Pod).delete({ namespace: "d", name: pod }, { gracePeriodSeconds: 0 });
      if (claim === undefined) return;
      const ref = { namespace: "d", name: claim };
      await cluster.deallocate(claim);
      await client.resource(ResourceClaim).patch(ref, "merge", { metadata: { finalizers: null } });
      await client.resource(ResourceClaim).delete(ref);
    },
    async deallocate(name) {
      await client
        .resource(ResourceClaim)
        .patch(
          { namespace: "d", name },
          "merge",
          { status: { allocation: null, reservedFor: null } },
          { subresource: "status" },
        );
    },
    bound: (name) =>
      cluster.until(`pod ${name} has a node`, async () => (await cluster.get(Pod, name)).spec.nodeName),
    refused: (name, reason = "Unschedulable") =>
      cluster.until(`pod ${name} is refused`, async () => {
        const condition = (await cluster.get(Pod, name)).status?.conditions?.find(
          ({ type }) => type === "PodScheduled",
        );
        return condition?.status === "False" && condition.reason === reason && (condition.message ?? "");
      }),
    async events() {
      return (await cluster.list(Event)).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
    },
    async until(what, check) {
      for (let tries = 0; tries < 400; tries++) {
        const value = await check();
        if (value !== undefined && value !== false) return value;
        await turn();
        // Back-offs are in the clock's time, too.
        clock.pass(50);
      }
      throw new Error(`not in time: ${what}\n${problems.join("\n")}`);
    },
    async settle() {
      for (let tries = 0; tries < 20; tries++) await turn();
    },
  };
  try {
    await cluster.create(Namespace, { metadata: { name: "d" }, spec: {} });
    await cluster.create(ServiceAccount, { metadata: { name: "default" } });
    await test(cluster);
    if (problems.length > 0) throw new Error(`logged:\n${problems.join("\n")}`);
  } finally {
    await Promise.all(running.map((scheduler) => scheduler.stop()));
    await server.close();
    await store.close();
  }
}

/** The entry of a pod for a claim of that name. */
export const uses = (...claims: string[]): object => ({
  resourceClaims: claims.map((name) => ({ name, resourceClaimName: name })),
});

/** `driver/pool/device` of a claim's allocation. */
export function devicesOf(claim: ResourceClaim): string[] {
  return (claim.status?.allocation?.devices?.results ?? []).map(
    ({ driver, pool, device }) => `${driver}/${pool}/${device}`,
  );
}
