import { randomUUID } from "node:crypto";
import { featuresOf, type Kind, type KubeObject, StatusError } from "@dray/api";
import { Namespace, Node, Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, createClient, silentLog, type Transport } from "@dray/client";
import { startControllers } from "@dray/controllers";
import { startScheduler } from "@dray/scheduler";
import { startApiServer, type TestApiServer } from "@dray/testing/api-server";
import { fakeClock } from "@dray/testing/clock";
import type { Random } from "@dray/testing/random";

export const namespace = "races";
const driver = "gpu.example.com";
const nodes: readonly string[] = ["n1", "n2"];
/** By which pods may ask for a card (KEP-5004). */
export const extendedResource = "example.com/card";

const consumes = (value: string): object => ({
  consumesCounters: [{ counterSet: "gpu", counters: { memory: { value } } }],
});
const ofType = (type: string): object => ({ attributes: { type: { string: type } } });

/** Devices of a node: a GPU, whole or in two of three parts, a link that is shared, and two cards. */
const nodeDevices: readonly object[] = [
  { name: "gpu", ...ofType("gpu"), ...consumes("80Gi") },
  ...[0, 1, 2].map((i) => ({ name: `part-${i}`, ...ofType("part"), ...consumes("30Gi") })),
  {
    name: "link",
    ...ofType("link"),
    capacity: { bandwidth: { value: "10" } },
    allowMultipleAllocations: true,
  },
  ...[0, 1].map((i) => ({ name: `card-${i}`, ...ofType("card") })),
];

/** Requests for devices, by the name of their template. */
export const requests: Readonly<Record<string, object>> = {
  gpu: { deviceClassName: "gpu" },
  part: { deviceClassName: "part" },
  link: { deviceClassName: "link", capacity: { requests: { bandwidth: "4" } } },
  card: { deviceClassName: "card" },
  cards: { deviceClassName: "card", allocationMode: "All" },
  port: { deviceClassName: "port" },
};

export const claimSpec = (...wanted: readonly object[]): object => ({
  devices: { requests: wanted.map((exactly, i) => ({ name: `r${i}`, exactly })) },
});

/** All that there is, for pods on the nodes; the ports of the network go with the first one. */
export const everything = (node: string): object =>
  claimSpec(
    { deviceClassName: "gpu" },
    { deviceClassName: "card", allocationMode: "All" },
    { deviceClassName: "link", capacity: { requests: { bandwidth: "10" } } },
    ...(node === nodes[0] ? [{ deviceClassName: "port", allocationMode: "All" }] : []),
  );

/** A scheduler that may die. */
interface RunningScheduler {
  kill(): void;
  stop(): Promise<void>;
}

/** An API server, its controllers and schedulers in this process; kubelets are played. */
export class RaceCluster {
  readonly #random: Random;
  readonly #clock = fakeClock();
  readonly #stop = new AbortController();
  readonly #schedulers = new Map<string, RunningScheduler>();
  readonly #names: readonly [string, string];
  #server!: TestApiServer;
  #controllers: Promise<void> = Promise.resolve();
  client!: Client;

  /** The names of the two schedulers, which may be one. */
  constructor(random: Random, names: readonly [string, string]) {
    this.#random = random;
    this.#names = names;
  }

  get nodes(): readonly string[] {
    return nodes;
  }

  get schedulerNames(): readonly string[] {
    return [...new Set(this.#names)];
  }

  async start(): Promise<void> {
    this.#server = await startApiServer({
      clock: this.#clock,
      log: silentLog,
      disabledAdmissionPlugins: ["ServiceAccount"],
    });
    this.client = this.#clientOf(this.#server.transport("admin", "system:masters"));
    await this.#fill();
    const controllers = await startControllers({
      client: this.#clientOf(
        this.#late(this.#server.transport("system:kube-controller-manager"), () => false),
      ),
      clock: this.#clock,
      log: silentLog,
      random: Math.random,
      signal: this.#stop.signal,
      features: featuresOf(),
      rootCA: "",
      controllers: ["resourceclaim-controller", "garbage-collector-controller"],
    });
    this.#controllers = controllers.stopped;
    for (const key of ["first", "second"] as const) await this.startScheduler(key);
  }

  #clientOf(transport: Transport): Client {
    return createClient({ transport, userAgent: "races", clock: this.#clock, log: silentLog });
  }

  /** Brings what watches say some turns late, and nothing any more once `isDead`. */
  #late(inner: Transport, isDead: () => boolean): Transport {
    const random = this.#random;
    const never = new Promise<never>(() => {});
    async function* late<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
      for await (const event of events) {
        for (let turns = random.below(4); turns > 0; turns--) await turn();
        yield event;
      }
    }
    return {
      async request(request) {
        if (isDead()) return never;
        const response = await inner.request(request);
        if (isDead()) return never;
        return response.type === "watch" ? { ...response, events: late(response.events) } : response;
      },
      close: () => inner.close(),
    };
  }

  async startScheduler(key: "first" | "second"): Promise<void> {
    this.#schedulers.get(key)?.kill();
    const stop = new AbortController();
    let dead = false;
    const name = this.#names[key === "first" ? 0 : 1];
    const scheduler = await startScheduler({
      client: this.#clientOf(this.#late(this.#server.transport("system:kube-scheduler"), () => dead)),
      clock: this.#clock,
      log: silentLog,
      newId: randomUUID,
      random: Math.random,
      features: featuresOf(),
      name,
      signal: stop.signal,
    });
    this.#schedulers.set(key, {
      kill() {
        dead = true;
        stop.abort();
      },
      async stop() {
        stop.abort();
        if (!dead) await scheduler.stopped;
      },
    });
  }

  async #fill(): Promise<void> {
    await this.create(Namespace, { metadata: { name: namespace } });
    for (const type of ["gpu", "part", "link", "card", "port"]) {
      const expression = `device.attributes["${driver}"].type == "${type}"`;
      await this.create(DeviceClass, {
        metadata: { name: type },
        spec: {
          selectors: [{ cel: { expression } }],
          ...(type === "card" && { extendedResourceName: extendedResource }),
        },
      });
    }
    for (const [name, exactly] of Object.entries(requests))
      await this.create(ResourceClaimTemplate, {
        metadata: { name, namespace },
        spec: { spec: claimSpec(exactly) },
      });
    for (const name of nodes) await this.#addNode(name);
    const ports = Array.from({ length: 3 }, (_, i) => ({ name: `port-${i}`, ...ofType("port") }));
    await this.#slice("fabric", "fabric", 1, { allNodes: true, devices: ports });
  }

  async #addNode(name: string): Promise<void> {
    const amounts = { cpu: "8", memory: "8Gi", pods: "110" };
    await this.create(Node, { metadata: { name, labels: { "kubernetes.io/hostname": name } } });
    const resource = this.client.resource(Node);
    // Admission has tainted it as not ready.
    await resource.patch({ name }, "merge", { spec: { taints: null } });
    const status = { capacity: amounts, allocatable: amounts };
    await resource.patch({ name }, "merge", { status }, { subresource: "status" });
    const counters = [{ name: "gpu", counters: { memory: { value: "80Gi" } } }];
    await this.#slice(`${name}-counters`, name, 2, { nodeName: name, sharedCounters: counters });
    await this.#slice(`${name}-devices`, name, 2, { nodeName: name, devices: nodeDevices });
  }

  async #slice(name: string, pool: string, resourceSliceCount: number, spec: object): Promise<void> {
    await this.create(ResourceSlice, {
      metadata: { name },
      spec: { driver, pool: { name: pool, generation: 1, resourceSliceCount }, ...spec },
    });
  }

  create<T extends KubeObject>(kind: Kind<T>, object: object): Promise<T> {
    return this.client.resource(kind).create(object as never);
  }

  /** Does what may find that the object is gone, there already, or another one. */
  async attempt(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      const expected = ["NotFound", "Conflict", "AlreadyExists"];
      if (!(error instanceof StatusError && expected.includes(`${error.reason}`))) throw error;
    }
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.client.resource(Pod).list({ namespace })).items;
  }

  async claims(): Promise<readonly ResourceClaim[]> {
    return (await this.client.resource(ResourceClaim).list({ namespace })).items;
  }

  async slices(): Promise<readonly ResourceSlice[]> {
    return (await this.client.resource(ResourceSlice).list()).items;
  }

  /** Does what kubelets do: pods with a node run, some end, and those that are to go are gone. */
  async kubelets(): Promise<void> {
    for (const { metadata, spec, status } of await this.pods()) {
      const { name, uid, labels } = metadata;
      if (!spec.nodeName) continue;
      if (metadata.deletionTimestamp !== undefined)
        await this.attempt(() =>
          this.client
            .resource(Pod)
            .delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } }),
        );
      else if (status?.phase === "Pending" || labels?.["ends"] !== undefined) {
        const phase = status?.phase === "Pending" ? "Running" : "Succeeded";
        await this.attempt(() =>
          this.client.resource(Pod).patch(
            { namespace, name },
            "merge",
            { metadata: { uid }, status: { phase } },
            {
              subresource: "status",
            },
          ),
        );
      }
    }
  }

  /** Time of the clock passes, and everybody has some turns. */
  async pass(milliseconds: number): Promise<void> {
    for (let turns = 3; turns > 0; turns--) await turn();
    this.#clock.advance(milliseconds);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#schedulers.values()].map((one) => one.stop()));
    await this.#controllers;
    await this.#server.close();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
