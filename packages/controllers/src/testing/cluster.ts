import { featuresOf, type Kind, type KubeObject, type KubernetesVersion, StatusError } from "@dray/api";
import { Event, Namespace, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import type { ServerOptions } from "@dray/apiserver";
import { type Client, type ResourceClient, timeText } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  ControllerMetrics,
  createInformers,
} from "@dray/controllers";
import { startApiServer } from "@dray/testing/api-server";
import { type FakeClock, fakeClock } from "@dray/testing/clock";
import { problemLog } from "@dray/testing/log";

/** An API server of its own, in this process, with a client that may do everything. */
export interface TestCluster {
  readonly client: Client;
  readonly clock: FakeClock;
  readonly context: ControllerContext;
  readonly problems: string[];
  /** A client of another user. */
  connect(name: string, ...groups: string[]): Client;
  /** Makes the object, in namespace `d` unless it says another. */
  create<T extends KubeObject>(kind: Kind<T>, object: object): Promise<T>;
  get<T extends KubeObject>(kind: Kind<T>, name: string, namespace?: string): Promise<T>;
  find<T extends KubeObject>(kind: Kind<T>, name: string, namespace?: string): Promise<T | undefined>;
  list<T extends KubeObject>(kind: Kind<T>, namespace?: string): Promise<readonly T[]>;
  node(name: string, more?: { labels?: object; spec?: object }): Promise<Node>;
  /** Does what a kubelet does: the pod runs on the node and is ready. */
  run(pod: Pod, node: string): Promise<void>;
  setStatus(pod: Pod, status: object): Promise<void>;
  /** Does what kubelets do: pods of namespace `d` that are being deleted go. */
  finishDeletions(): Promise<void>;
  /** `type reason message` of the events of namespace `d`. */
  events(): Promise<string[]>;
  /**
   * Waits until the function returns a value other than undefined and false, while the fake clock advances.
   */
  until<T>(what: string, check: () => Promise<T | undefined | false>): Promise<T>;
  /** Some turns, for what should not happen to have had its chance. */
  settle(): Promise<void>;
  /** Ends the controllers, lets things happen without them, and starts others on the same server. */
  restart(
    meanwhile: () => Promise<void>,
    start: (context: ControllerContext) => Promise<Controller>,
  ): Promise<void>;
}

/** Release and gates of cluster and controllers, the newest release by default; options of the server. */
export interface TestOptions extends Partial<Omit<ServerOptions, "featureGates" | "kubernetesVersion">> {
  readonly kubernetesVersion?: KubernetesVersion;
  readonly featureGates?: Readonly<Record<string, boolean>>;
}

/** Runs a test on a cluster of its own; what the controllers log as warnings or errors fails it. */
export async function withCluster(
  start: (context: ControllerContext) => Promise<unknown>,
  test: (cluster: TestCluster) => Promise<void>,
  { kubernetesVersion, featureGates = {}, ...options }: TestOptions = {},
): Promise<void> {
  const gates = new Map(Object.entries(featureGates));
  const features = featuresOf(kubernetesVersion, gates);
  const clock = fakeClock();
  const { log, problems } = problemLog();
  const server = await startApiServer({
    clock,
    log,
    // Tests that start controllers one by one have no service accounts.
    disabledAdmissionPlugins: ["ServiceAccount"],
    ...options,
    featureGates: gates,
    ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
  });
  const { connect } = server;
  const client = server.admin();
  let stop = new AbortController();
  // With the rights of the component in a cluster.
  const own = connect("system:kube-controller-manager");
  const contextOf = (signal: AbortSignal): ControllerContext => ({
    client: own,
    clock,
    log,
    random: Math.random,
    signal,
    features,
    informers: createInformers(own),
    metrics: new ControllerMetrics(),
  });
  const context = contextOf(stop.signal);

  const objects = objectAccess(client);
  const cluster: TestCluster = {
    client,
    clock,
    context,
    problems,
    connect,
    ...objects,
    ...kubeletActions(client, clock, objects),
    ...clockControls(clock, problems),
    async events() {
      return (await cluster.list(Event)).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
    },
    async restart(meanwhile, begin) {
      stop.abort();
      await cluster.settle();
      await meanwhile();
      stop = new AbortController();
      await begin(contextOf(stop.signal));
    },
  };
  try {
    await client.resource(Namespace).create({ metadata: { name: "d" }, spec: {} });
    await client.resource(ServiceAccount).create({ metadata: { namespace: "d", name: "default" } });
    await start(context);
    await test(cluster);
    if (problems.length > 0) throw new Error(`logged:\n${problems.join("\n")}`);
  } finally {
    stop.abort();
    await server.close();
  }
}

type Objects = Pick<TestCluster, "create" | "get" | "find" | "list">;

function objectAccess(client: Client): Objects {
  // Warnings to the test's own requests are not the controllers'.
  const of = <T extends KubeObject>(kind: Kind<T>): ResourceClient<T> =>
    client.resource(kind, { ignoreWarnings: true });
  const objects: Objects = {
    create(kind, object) {
      const { metadata, ...rest } = object as { metadata: { namespace?: string } };
      const placed = kind.namespaced ? { namespace: "d", ...metadata } : metadata;
      return of(kind).create({ ...rest, metadata: placed } as never);
    },
    get: (kind, name, namespace = "d") => of(kind).get(kind.namespaced ? { namespace, name } : { name }),
    async find(kind, name, namespace) {
      try {
        return await objects.get(kind, name, namespace);
      } catch (error) {
        if (StatusError.is(error, "NotFound")) return undefined;
        throw error;
      }
    },
    async list(kind, namespace = "d") {
      return (await of(kind).list(kind.namespaced ? { namespace } : {})).items;
    },
  };
  return objects;
}

/** Actions of kubelets. */
function kubeletActions(
  client: Client,
  clock: FakeClock,
  objects: Objects,
): Pick<TestCluster, "node" | "run" | "finishDeletions" | "setStatus"> {
  const setStatus: TestCluster["setStatus"] = async (pod, status) => {
    const { namespace, name } = pod.metadata;
    await client.resource(Pod).patch({ namespace, name }, "strategic", { status }, { subresource: "status" });
  };
  return {
    setStatus,
    async node(name, { labels = {}, spec = {} } = {}) {
      await objects.create(Node, {
        metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
        spec,
      });
      // The server taints new nodes as not ready; taking that away is the node lifecycle controller's work.
      const { taints = [] } = spec as { taints?: unknown[] };
      await client.resource(Node).patch({ name }, "merge", { spec: { taints } });
      const now = timeText(clock.now());
      const ready = {
        type: "Ready",
        status: "True",
        lastHeartbeatTime: now,
        lastTransitionTime: now,
        reason: "KubeletReady",
        message: "",
      };
      return client
        .resource(Node)
        .patch({ name }, "merge", { status: { conditions: [ready] } }, { subresource: "status" });
    },
    async run(pod, node) {
      const ref = { namespace: pod.metadata.namespace, name: pod.metadata.name };
      const now = await objects.get(Pod, ref.name, ref.namespace);
      if (!now.spec.nodeName) {
        await client.resource(Pod).post(ref, "binding", {
          apiVersion: "v1",
          kind: "Binding",
          metadata: ref,
          target: { kind: "Node", name: node },
        });
      }
      const condition = { type: "Ready", status: "True", lastTransitionTime: timeText(clock.now()) };
      await setStatus(pod, { phase: "Running", conditions: [condition] });
    },
    async finishDeletions() {
      for (const { metadata } of await objects.list(Pod)) {
        if (metadata.deletionTimestamp === undefined) continue;
        await client
          .resource(Pod)
          .delete({ namespace: metadata.namespace, name: metadata.name }, { gracePeriodSeconds: 0 })
          .catch((error: unknown) => {
            if (!StatusError.is(error, "NotFound")) throw error;
          });
      }
    },
  };
}

/** Advances the fake clock. */
function clockControls(clock: FakeClock, problems: readonly string[]): Pick<TestCluster, "until" | "settle"> {
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
  return {
    async until(what, check) {
      for (let tries = 0; tries < 400; tries++) {
        const value = await check();
        if (value !== undefined && value !== false) return value;
        await turn();
        // Back-offs are in the clock's time, too.
        clock.advance(5);
      }
      throw new Error(`not in time: ${what}\n${problems.join("\n")}`);
    },
    async settle() {
      for (let tries = 0; tries < 10; tries++) await turn();
    },
  };
}

/**
 * Runs the test once for each write that the controllers do: there they are killed before they have the
 * answer, and others take over.
 */
export async function killedAtEveryWrite(
  start: (context: ControllerContext) => Promise<unknown>,
  test: (cluster: TestCluster) => Promise<void>,
): Promise<void> {
  for (let writes = 1; ; writes++) {
    let killed = false;
    await withCluster((context) => {
      const successor = (): void => {
        killed = true;
        void start(context);
      };
      return start(crashingContext(context, writes, successor));
    }, test);
    if (!killed) {
      if (writes === 1) throw new Error("the controllers have written nothing");
      return;
    }
  }
}

/** A context whose owner is killed by its n-th write: that is done, but nothing is answered from then on. */
function crashingContext(context: ControllerContext, writes: number, killed: () => void): ControllerContext {
  const stop = new AbortController();
  let left = writes;
  const changing = ["create", "update", "patch", "apply", "delete", "deleteCollection", "post"];
  const never = (): Promise<never> => new Promise(() => {});
  const crashing = <T extends KubeObject>(kind: Kind<T>, resource: ResourceClient<T>): ResourceClient<T> =>
    new Proxy(resource, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        if (typeof name !== "string" || typeof method !== "function") return method;
        return (...args: unknown[]) => {
          if (stop.signal.aborted) return never();
          const answer = method.apply(target, args);
          if (!changing.includes(name) || kind.kind === "Event" || --left > 0) return answer;
          stop.abort();
          const dead = (): Promise<never> => {
            killed();
            return never();
          };
          return (answer as Promise<unknown>).then(dead, dead);
        };
      },
    });
  const { client } = context;
  const crashingClient: Client = {
    ...client,
    resource: (kind, options) => crashing(kind, client.resource(kind, options)),
  };
  return { ...context, client: crashingClient, signal: stop.signal, informers: createInformers(client) };
}
