import { featuresOf, type Kind, type KubeObject, type KubernetesVersion, parseFeatureGates } from "@dray/api";
import { Event, Namespace, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import type { SchedulerOptions } from "@dray/scheduler";
import { startApiServer } from "@dray/testing/api-server";
import { type FakeClock, fakeClock } from "@dray/testing/clock";
import { problemLog } from "@dray/testing/log";
import { type RunningScheduler, startTestScheduler } from "./scheduler.ts";

/** An API server of its own, in this process, with a client that may do everything. */
export interface TestCluster {
  readonly client: Client;
  readonly clock: FakeClock;
  /** Warnings and errors that schedulers logged. */
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
  /** Creates a slice of the node with this number of devices. */
  slice(node: string, devices: number, driver?: string): Promise<ResourceSlice>;
  /** A claim for one device of class `gpu`. */
  claim(name: string, request?: object): Promise<ResourceClaim>;
  /** Deletes the pod and its claim, as the other controllers would. */
  remove(pod: string, claim?: string): Promise<void>;
  /** Merges into the status of the claim. */
  claimStatus(claim: string, status: object): Promise<void>;
  deallocate(claim: string): Promise<void>;
  /** Waits until the pod has a node. Returns its name. */
  bound(pod: string): Promise<string>;
  /** Waits until the pod is rejected. Returns the message of condition PodScheduled. */
  refused(pod: string, reason?: string): Promise<string>;
  /** `type reason message` of the events. */
  events(): Promise<string[]>;
  /**
   * Waits until the function returns a value other than undefined and false, while the fake clock advances.
   */
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
  const clock = fakeClock();
  const { log, problems } = problemLog();
  const server = await startApiServer({
    clock,
    log,
    disabledAdmissionPlugins: ["ServiceAccount"],
    featureGates,
    ...(version && { kubernetesVersion: version }),
    ...(runtimeConfig && { runtimeConfig }),
  });
  const client = server.admin();
  const running: RunningScheduler[] = [];
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

  const objects = objectActions(client);
  const cluster: TestCluster = {
    client,
    clock,
    problems,
    async scheduler(before, more = {}) {
      const transport = server.transport("system:kube-scheduler");
      const features = featuresOf(version, featureGates);
      const control = await startTestScheduler({ transport, clock, log, features }, before, more);
      running.push(control);
      return control;
    },
    ...objects,
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
        clock.advance(50);
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
  }
}

type ObjectActions = Pick<
  TestCluster,
  | "create"
  | "get"
  | "list"
  | "node"
  | "pod"
  | "gpuClass"
  | "slice"
  | "claim"
  | "remove"
  | "claimStatus"
  | "deallocate"
>;

/** Creates, reads and deletes objects with this client. */
function objectActions(client: Client): ObjectActions {
  const actions: ObjectActions = {
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
      await actions.create(Node, {
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
      return actions.create(Pod, { metadata: { name, labels }, spec });
    },
    gpuClass: (name = "gpu", expression = "true") =>
      actions.create(DeviceClass, { metadata: { name }, spec: { selectors: [{ cel: { expression } }] } }),
    slice: (node, devices, driver = "gpu.example.com") =>
      actions.create(ResourceSlice, {
        metadata: { name: `${node}-gpus` },
        spec: {
          driver,
          nodeName: node,
          pool: { name: node, generation: 1, resourceSliceCount: 1 },
          devices: Array.from({ length: devices }, (_, i) => ({ name: `gpu-${i}` })),
        },
      }),
    claim: (name, request = { exactly: { deviceClassName: "gpu" } }) =>
      actions.create(ResourceClaim, {
        metadata: { name },
        spec: { devices: { requests: [{ name: "gpu", ...request }] } },
      }),
    async remove(pod, claim) {
      await client.resource(Pod).delete({ namespace: "d", name: pod }, { gracePeriodSeconds: 0 });
      if (claim === undefined) return;
      const ref = { namespace: "d", name: claim };
      await actions.deallocate(claim);
      await client.resource(ResourceClaim).patch(ref, "merge", { metadata: { finalizers: null } });
      await client.resource(ResourceClaim).delete(ref);
    },
    async claimStatus(name, status) {
      await client
        .resource(ResourceClaim)
        .patch({ namespace: "d", name }, "merge", { status }, { subresource: "status" });
    },
    deallocate: (name) => actions.claimStatus(name, { allocation: null, reservedFor: null }),
  };
  return actions;
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
