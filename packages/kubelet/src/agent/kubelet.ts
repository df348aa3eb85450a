import { join } from "node:path";
import { type Features, featuresOf } from "@dray/api";
import { type Node, Pod, Service, type Taint } from "@dray/api/core/v1";
import {
  type Client,
  type Clock,
  createEventRecorder,
  createWorkQueue,
  type Log,
  systemClock,
  withFields,
} from "@dray/client";
import { NodePaths } from "../base/paths.ts";
import { type ClusterDns, machineResolvConf } from "../containers/dns.ts";
import { type ApiServerAddress, apiServerAddress } from "../containers/service-environment.ts";
import { SysctlAllowlist } from "../containers/sysctls.ts";
import type { TopologyPolicy } from "../device-plugins/choice.ts";
import { DevicePluginManager } from "../device-plugins/manager.ts";
import { DraManager } from "../dra/manager.ts";
import { DraPlugins } from "../dra/plugins.ts";
import { SliceWiper } from "../dra/slices.ts";
import { PluginWatcher } from "../dra/watcher.ts";
import { LocalStorage } from "../eviction/local-storage.ts";
import { MachineSignals } from "../eviction/machine-signals.ts";
import { EvictionManager, type EvictionSettings } from "../eviction/manager.ts";
import type { SignalSource } from "../eviction/signals.ts";
import { podUsages } from "../eviction/usage.ts";
import { ImageCollector } from "../images/collector.ts";
import { defaultImageGCPolicy, type ImageGCPolicy } from "../images/policy.ts";
import { admit } from "../lifecycle/admission.ts";
import { defaultLogLimits, type LogLimits, LogRotation } from "../logs/log-rotation.ts";
import { countsClaims, declaredFeatures } from "../node/declared-features.ts";
import { OwnNode } from "../node/own-node.ts";
import { Registration } from "../node/registration.ts";
import { RuntimeProblems } from "../node/runtime-problems.ts";
import { NodeShutdown, type RunningPod, type ShutdownGracePeriods } from "../node/shutdown.ts";
import { PodResourcesServer } from "../pod-resources/server.ts";
import { OrphanSweep } from "../pods/orphans.ts";
import { StaticPods } from "../pods/static-pods.ts";
import { PodWorker } from "../pods/worker.ts";
import type { WorkerContext } from "../pods/worker-context.ts";
import { Probes } from "../prober/probes.ts";
import type { RuntimeFactory } from "../runtime/factory.ts";
import { bootId } from "../runtime/host/processes.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { documents } from "../server/documents.ts";
import { PlainServer } from "../server/plain.ts";
import { NodeServer, type Serving } from "../server/server.ts";
import { NodeStatistics } from "../server/stats.ts";
import { ServiceAgent } from "../services/agent.ts";
import type { ServiceNetwork } from "../services/network.ts";
import { isMirrorPod, isStaticPod } from "../types/static-pod.ts";
import { PodCertificates } from "../volumes/pod-certificates.ts";
import { TrustBundles } from "../volumes/trust-bundles.ts";
import { Volumes } from "../volumes/volumes.ts";

export interface KubeletOptions {
  /** As `system:node:NAME`. */
  readonly client: Client;
  readonly nodeName: string;
  /** What is `/` for the node's own files: short, since socket paths lie below it. */
  readonly rootDir: string;
  /** By which the agent reaches the API server, and pods where they have no other way. */
  readonly apiServer: ApiServerAddress;
  /**
   * As `system:kube-proxy`, which may read Services and EndpointSlices. With it, and a runtime that makes the network of
   * pods itself, the addresses and names of Services lead to their endpoints.
   */
  readonly servicesClient?: Client;
  /**
   * How pods resolve names, where nothing is said: in the domain `cluster.local`, by the server that the agent runs
   * with `servicesClient`, or else by the machine's servers.
   */
  readonly dns?: Partial<ClusterDns>;
  /** How long the logs of containers grow; five files of 10 MiB where nothing is said. */
  readonly logs?: Partial<LogLimits>;
  /** A folder of manifests of pods that run on this node alone; `etc/kubernetes/manifests` below the root if absent. */
  readonly staticPodPath?: string;
  /** For the node's own HTTPS endpoints. */
  readonly serving: Serving;
  /** 127.0.0.1 if absent. */
  readonly nodeAddress?: string;
  /** Where its endpoints listen: an address of this machine, or one that means all; that of the node if absent. */
  readonly address?: string;
  /** Of the node's endpoints; any free one if absent. */
  readonly port?: number;
  /** Where `/healthz` is served over HTTP on 127.0.0.1; nowhere if absent. */
  readonly healthzPort?: number;
  /** Where metrics and statistics are served over HTTP to everybody who reaches the node; nowhere if absent. */
  readonly readOnlyPort?: number;
  /** What runs the containers. */
  readonly runtime: RuntimeFactory;
  /** Those of the newest release if absent. */
  readonly features?: Features;
  /** When pods are evicted because the node runs out of something; never if absent. */
  readonly eviction?: EvictionSettings;
  /** When images that no container uses are removed; only when pods would have to go if absent. */
  readonly imageGC?: ImageGCPolicy;
  /** What the node has left; that of the machine if absent. */
  readonly signals?: SignalSource;
  /** How long pods may take when `shutDown` is called; without it they are left alone. */
  readonly shutdown?: ShutdownGracePeriods;
  /** Milliseconds that a driver may be away before its ResourceSlices go; 30 s if absent. */
  readonly wipeDelay?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Of a Node that is new. */
  readonly taints?: readonly Taint[];
  /** How many processes a pod may have: any number if absent. */
  readonly podMaxPids?: number;
  /** Sysctls that pods may set beside the safe ones, as `kernel.msg*`: none if absent. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** Whether device plugins' devices of one NUMA node are chosen together; `none` if absent. */
  readonly topologyPolicy?: TopologyPolicy;
  /** Replaces what the machine has, by resource. */
  readonly capacity?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly log: Log;
  readonly random?: () => number;
  /** Called between every two steps of what is done for pods, for tests that end the process there. */
  readonly at?: (step: string) => void;
  /** Aborted: a start that is under way is given up, and rejects once all that it had begun has ended. */
  readonly signal?: AbortSignal;
}

export interface Kubelet {
  readonly nodeName: string;
  /** Of the node's HTTPS endpoints. */
  readonly port: number;
  /** What its runtime does not keep apart on this machine, in words. */
  readonly limits: readonly string[];
  /**
   * Ends all pods by their priority, because the machine goes down: within the periods of `KubeletOptions.shutdown`,
   * after which `stop` with `leavePods` is due. Does nothing if these are not set.
   */
  shutDown(): Promise<void>;
  /**
   * Stops the agent. With `leavePods` what runs goes on, and the next agent on the same root takes it over;
   * without, every container is stopped and every claim unprepared, as far as drivers answer.
   */
  stop(options: { readonly leavePods: boolean }): Promise<void>;
}

/** How long containers may take to end when the node stops for good. */
const shutdownGraceMilliseconds = 2000;

/**
 * Starts the agent of one node. Resolves when the node is registered and its pods are looked after; rejects if the
 * root cannot be used or a checkpoint is damaged.
 */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { client, nodeName, nodeAddress = "127.0.0.1", features = featuresOf() } = options;
  const { podMaxPids, address = nodeAddress } = options;
  const log = withFields(options.log, { node: nodeName });
  const clock = options.clock ?? systemClock;
  const at = options.at ?? (() => {});
  const sysctls = new SysctlAllowlist(options.allowedUnsafeSysctls);
  const paths = new NodePaths(options.rootDir);
  paths.create();
  const stop = new AbortController();
  const giveUp = (): void => stop.abort(options.signal?.reason);
  options.signal?.throwIfAborted();
  options.signal?.addEventListener("abort", giveUp, { once: true });
  const events = createEventRecorder({
    client,
    clock,
    log,
    random: options.random ?? Math.random,
    component: "kubelet",
    host: nodeName,
  });
  const { service: runtime, images } = options.runtime({ nodeName, paths, nodeAddress, clock, log });
  const plugins = new DraPlugins(log);
  const node = new OwnNode(client, nodeName);
  const workers = new Map<string, PodWorker>();
  const pods = client.informer(Pod, {
    fieldSelector: `spec.nodeName=${nodeName}`,
    indexes: { uid: (pod) => [pod.metadata.uid] },
  });
  const services = client.informer(Service);
  const statics = new StaticPods({
    directory: options.staticPodPath ?? join(paths.root, "etc/kubernetes/manifests"),
    nodeName,
    client,
    clock,
    log,
    features,
    node: () => node.current,
    apiPods: () => pods.list(),
    changed: (uid) => workOn(uid),
  });
  const podOf = (uid: string): Pod | undefined => {
    const [pod] = pods.byIndex("uid", uid);
    return statics.get(uid) ?? (pod === undefined || isMirrorPod(pod) ? undefined : pod);
  };
  /** All that are to run here. */
  const ownPods = (): Pod[] => [...pods.list().filter((pod) => !isMirrorPod(pod)), ...statics.list()];
  const retryAll = (): void => {
    for (const worker of workers.values()) worker.retry();
  };
  const dra = new DraManager({
    client,
    plugins,
    checkpoint: join(paths.kubelet, "dra_manager_state"),
    features,
    clock,
    log,
    released: retryAll,
    healthChanged: (podUids) => {
      for (const uid of podUids) queue.add(uid);
    },
    at,
  });
  plugins.handle({ connected: retryAll });
  let podsKnown = false;
  const devicePlugins = new DevicePluginManager({
    paths,
    clock,
    log,
    bootId: bootId(),
    ...(options.topologyPolicy !== undefined && { topologyPolicy: options.topologyPolicy }),
    isActive: (uid) => !podsKnown || workers.get(uid)?.ended === false,
    changed: () => registration?.changed(),
    retry: (uids) => {
      for (const uid of uids) workers.get(uid)?.retryStarts();
    },
    healthChanged: (uids) => {
      for (const uid of uids) queue.add(uid);
    },
  });
  const certificates = new PodCertificates({
    client,
    clock,
    log,
    events,
    features,
    nodeName,
    node: () => node.current,
    pod: podOf,
    random: options.random ?? Math.random,
    signal: stop.signal,
    changed: (uid) => workers.get(uid)?.volumesChanged(),
  });
  const trustBundles = new TrustBundles({
    client,
    clock,
    features,
    signal: stop.signal,
    changed: () => {
      for (const worker of workers.values())
        if (worker.pod !== undefined && usesTrustBundles(worker.pod)) worker.volumesChanged();
    },
  });
  const volumes = new Volumes({
    client,
    clock,
    paths,
    nodeAddress,
    trustBundles,
    certificates,
    node: () => node.current,
    userOfPod: (uid) => runtime.userOfPod(uid),
  });
  const storage = new LocalStorage({ paths, volumes });
  const probes = new Probes({
    runtime,
    clock,
    log,
    changed: (podUid) => queue.add(podUid),
    event: (podUid, reason, message) => {
      const pod = podOf(podUid);
      if (pod !== undefined) events.event(pod, "Warning", reason, message);
    },
  });
  /** Those that were let in and have not ended. */
  const runningPods = (): RunningPod[] =>
    [...workers.values()].flatMap((worker) =>
      worker.active && worker.admitted && worker.pod !== undefined
        ? [{ pod: worker.pod, end: (how) => worker.end(how) }]
        : [],
    );
  /** What leads Services to their endpoints here; known once the runtime has been started. */
  const serviceNetwork = (): ServiceNetwork | undefined =>
    options.servicesClient === undefined ? undefined : runtime.network?.services;
  const dns = (): ClusterDns => {
    const network = serviceNetwork();
    const servers = network === undefined ? undefined : [network.gateway];
    return { servers, domain: "cluster.local", resolvConf: machineResolvConf, ...options.dns };
  };
  const activePods = (): Pod[] => runningPods().map(({ pod }) => pod);
  const bounds = { useClaims: countsClaims(features) };
  const context: WorkerContext = {
    client,
    clock,
    log,
    events,
    runtime: { service: runtime, images },
    paths,
    volumes,
    probes,
    dra,
    devicePlugins,
    resourceHealth: (pod, container) =>
      features.enabled("ResourceHealthStatus")
        ? [
            ...devicePlugins.health(pod.metadata.uid, container.name),
            ...dra.allocatedResourcesStatus(pod, container),
          ]
        : [],
    nodeAddress,
    podMaxPids,
    bounds,
    reportsWholePods: features.enabled("InPlacePodLevelResourcesVerticalScaling"),
    apiServer: ({ spec }) =>
      apiServerAddress({
        direct: options.apiServer,
        leadsServices: serviceNetwork() !== undefined,
        isolatesNetwork: runtime.isolatesNetwork ?? false,
        hostNetwork: spec.hostNetwork ?? false,
        service: services.get({ namespace: "default", name: "kubernetes" }),
      }),
    get dns() {
      return dns();
    },
    signal: stop.signal,
    node: () => node.current,
    services: () => services.list(),
    refusal: (pod) => evictions.refusal(pod) ?? sysctls.refusal(pod) ?? shutdown.refusal,
    refreshNode: () => node.refresh(),
    pod: podOf,
    apiPod: (pod) => (isStaticPod(pod) ? statics.mirrorOf(pod) : pod),
    admit: (pod) =>
      admit(
        pod,
        withAllocatable(node.current, (amounts) => devicePlugins.allocatableFor(pod.metadata.uid, amounts)),
        activePods().filter(({ metadata }) => metadata.uid !== pod.metadata.uid),
        bounds,
      ),
    at,
    requeue: (uid) => queue.add(uid),
    requeueAfter: (uid, milliseconds) => queue.addAfter(uid, milliseconds),
  };
  const queue = createWorkQueue({
    name: `kubelet ${nodeName}`,
    clock,
    log,
    // One worker for each pod: a driver that takes its time holds up no other pod.
    concurrency: Number.POSITIVE_INFINITY,
    baseDelay: 1000,
    maxDelay: 60_000,
    async reconcile(uid) {
      const worker = workers.get(uid);
      if (worker === undefined) return;
      await worker.sync(podOf(uid));
      if (worker.done) workers.delete(uid);
    },
  });
  const workOn = (uid: string): void => {
    if (!workers.has(uid)) workers.set(uid, new PodWorker(uid, context));
    queue.add(uid);
  };

  const logLimits = { ...defaultLogLimits, ...options.logs };
  const nodeDocuments = documents({
    statistics: new NodeStatistics({ clock, runtime, nodeName, paths, volumes, pods: ownPods }),
    probes: probes.metrics,
    configuration: {
      get clusterDNS() {
        return dns().servers;
      },
      clusterDomain: context.dns.domain,
      resolvConf: context.dns.resolvConf,
      containerLogMaxSize: String(logLimits.maxSize),
      containerLogMaxFiles: logLimits.maxFiles,
    },
    pod: podOf,
    metrics: () => metrics(runtime, [dra, devicePlugins, podResources, certificates], log),
  });
  const healthServer = new PlainServer(
    new Map([["/healthz", { contentType: "text/plain; charset=utf-8", read: async () => "ok" }]]),
  );
  const readOnlyServer = new PlainServer(nodeDocuments);
  const server = new NodeServer({
    client,
    clock,
    log,
    runtime,
    nodeName,
    address,
    serving: options.serving,
    pods: ownPods,
    documents: nodeDocuments,
  });
  const { wipeDelay } = options;
  const wiper = new SliceWiper({
    client,
    clock,
    log,
    nodeName,
    plugins,
    ...(wipeDelay === undefined ? {} : { wipeDelay }),
  });
  const podResources = new PodResourcesServer({
    directory: join(paths.kubelet, "pod-resources"),
    pods: activePods,
    claims: dra,
    devices: devicePlugins,
    clock,
    log,
  });
  const watcher = new PluginWatcher({
    directory: paths.pluginsRegistry,
    plugins,
    devicePlugins: devicePlugins.registryHandler,
    onMachine: (path) => paths.onMachine(path),
    clock,
    log,
  });
  let registration: Registration | undefined;
  let serviceAgent: ServiceAgent | undefined;
  const problems = new RuntimeProblems({ runtime, clock, log, changed: () => registration?.changed() });
  const shutdown = new NodeShutdown({
    clock,
    log,
    periods: options.shutdown ?? { gracePeriod: 0, gracePeriodCriticalPods: 0 },
    signal: stop.signal,
    pods: runningPods,
    reportNode: async () => registration?.reportNow(),
    event: (reason, message) => events.event(node.current, "Normal", reason, message),
  });
  const sweep = new OrphanSweep({
    paths,
    clock,
    log,
    sandboxed: async () => new Set((await runtime.listPodSandboxes()).map(({ config }) => config.uid)),
    isKnown: (uid) => workers.has(uid) || podOf(uid) !== undefined,
  });

  const signals = options.signals ?? new MachineSignals({ root: paths.root, images });
  const imageCollector = new ImageCollector({
    images,
    policy: options.imageGC ?? { ...defaultImageGCPolicy, highThresholdPercent: 100 },
    clock,
    log,
    async fileSystem() {
      const observed = (await signals.observe()).get("imagefs.available");
      return observed && { available: observed.available.value(), capacity: observed.capacity.value() };
    },
    volumeImages: () =>
      activePods().flatMap(({ spec }) => (spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? [])),
    event: (reason, message) => events.event(node.current, "Warning", reason, message),
    changed: () => registration?.changed(),
  });
  const evictions = new EvictionManager({
    thresholds: [],
    pressureTransitionPeriod: 0,
    maxPodGracePeriodSeconds: 0,
    ...options.eviction,
    clock,
    log,
    nodeName,
    signals,
    pods: () =>
      runningPods().map(({ pod, end }) => ({
        pod,
        end: (how) => {
          events.event(pod, "Warning", how.reason, how.message);
          return end(how);
        },
      })),
    usage: (running) => podUsages(running, { runtime, paths, volumes }),
    excess: (pod) => storage.excess(pod),
    reclaimImages: () => imageCollector.collectAll(),
    event: (type, reason, message) => events.event(node.current, type, reason, message),
    changed: () => registration?.changed(),
  });

  const logs = new LogRotation({ runtime, clock, log, limits: logLimits });

  /** Ends everything that the agent itself does; the rest goes on. */
  async function close(leavePods: boolean): Promise<void> {
    options.signal?.removeEventListener("abort", giveUp);
    sweep.stop();
    stop.abort();
    await statics.stop();
    await evictions.stop();
    await imageCollector.stop();
    await logs.stop();
    problems.stop();
    await registration?.stop();
    await serviceAgent?.stop();
    await queue.close();
    await certificates.stop();
    if (!leavePods) {
      await endAll();
      volumes.close();
    }
    probes.close();
    watcher.close();
    await devicePlugins.close();
    wiper.close();
    plugins.close();
    await dra.close();
    await podResources.close();
    await server.close();
    await healthServer.close();
    await readOnlyServer.close();
    await runtime.close();
    await events.flush();
  }

  let port: number;
  try {
    await runtime.start();
    port = await server.listen(options.port ?? 0);
    if (options.readOnlyPort !== undefined) await readOnlyServer.listen(options.readOnlyPort, address);
    await devicePlugins.start();
    await podResources.start();
    await problems.start();
    const podCidr = runtime.network?.podCidr;
    registration = new Registration({
      client,
      clock,
      log,
      nodeName,
      nodeAddress,
      labels: options.labels ?? {},
      taints: options.taints ?? [],
      capacity: options.capacity ?? {},
      devices: () => devicePlugins.resources(),
      declaredFeatures: declaredFeatures(features),
      containerRuntimeVersion: `${runtime.name}://${runtime.version}`,
      kubeletPort: port,
      ...(podCidr !== undefined && { podCidr }),
      problem: () => problems.text ?? shutdown.problem,
      images: () => (images.pulls ? imageCollector.nodeImages : undefined),
      pressure: () => evictions.conditions,
      signal: stop.signal,
      changed: (changed) => node.see(changed),
    });
    await registration.start();
    await wiper.start();
    watcher.start();
    runtime.onChange((uid) => queue.add(uid));
    pods.handle({
      add: (pod) => {
        if (isMirrorPod(pod)) statics.mirror();
        else workOn(pod.metadata.uid);
      },
      update: (pod, old) => {
        if (isMirrorPod(pod)) {
          statics.mirror();
          return;
        }
        workOn(pod.metadata.uid);
        if (old.metadata.uid !== pod.metadata.uid) queue.add(old.metadata.uid);
      },
      delete: (pod) => {
        if (isMirrorPod(pod)) statics.mirror();
        else queue.add(pod.metadata.uid);
      },
    });
    node.follow(stop.signal);
    // Pods see the Services that there are when they start.
    await services.start(stop.signal);
    await pods.start(stop.signal);
    statics.start();
    stop.signal.throwIfAborted();
    if (options.healthzPort !== undefined) await healthServer.listen(options.healthzPort, "127.0.0.1");
    const network = serviceNetwork();
    if (network !== undefined && options.servicesClient !== undefined) {
      const { domain, resolvConf } = dns();
      const common = { client: options.servicesClient, network, clock, log };
      serviceAgent = new ServiceAgent({ ...common, domain, resolvConf });
      serviceAgent.start();
    }
  } catch (error) {
    await close(true);
    throw error;
  }
  // What runs here, or holds claims here, of pods that went while no agent looked.
  for (const { config } of await runtime.listPodSandboxes()) workOn(config.uid);
  for (const uid of [...dra.podUIDs(), ...devicePlugins.podUIDs()]) workOn(uid);
  podsKnown = true;
  await sweep.start();
  evictions.start();
  if (images.pulls) imageCollector.start();
  logs.start();
  log.info({ node: nodeName, port, limits: runtime.limits }, "node agent started");

  return {
    nodeName,
    port,
    limits: runtime.limits,
    shutDown: () => shutdown.run(),
    stop: ({ leavePods }) => close(leavePods),
  };

  /** Everything on the node ends: drivers last, since they unprepare what the others held. */
  async function endAll(): Promise<void> {
    const containers = await runtime.listContainers();
    for (const { id } of containers) probes.forget(id);
    const holders = dra.podUIDs();
    const sandboxes = await runtime.listPodSandboxes();
    const end = async (ids: readonly string[]): Promise<void> => {
      await Promise.all(
        containers
          .filter(({ sandboxId }) => ids.includes(sandboxId))
          .map(({ id }) => runtime.stopContainer(id, shutdownGraceMilliseconds)),
      );
      await Promise.all(ids.map((id) => runtime.stopPodSandbox(id)));
    };
    await end(sandboxes.filter(({ config }) => holders.has(config.uid)).map(({ id }) => id));
    await Promise.all(
      [...holders].map((uid) =>
        dra.unprepare(uid).catch((error: unknown) => {
          log.warn({ pod: uid, err: error }, "claims are still prepared while the node stops");
        }),
      ),
    );
    await end(sandboxes.map(({ id }) => id));
  }
}

function usesTrustBundles({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(({ projected }) =>
    projected?.sources?.some(({ clusterTrustBundle }) => clusterTrustBundle !== undefined),
  );
}

/** The node with other allocatable amounts. */
function withAllocatable(
  node: Node,
  change: (amounts: Readonly<Record<string, string>>) => Record<string, string>,
): Node {
  return { ...node, status: { ...node.status, allocatable: change(node.status?.allocatable ?? {}) } };
}

/** The metrics of the node, in the text format of Prometheus. */
async function metrics(
  runtime: RuntimeService,
  parts: readonly { metrics(): string }[],
  log: Log,
): Promise<string> {
  const running = (await runtime.listContainers()).filter(({ state }) => state === "running").length;
  const pods = (await runtime.listPodSandboxes()).filter(({ ready }) => ready).length;
  const gauge = (name: string, help: string, value: number): string =>
    `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`;
  return [
    gauge("kubelet_running_pods", "Number of pods that have a running pod sandbox", pods),
    gauge("kubelet_running_containers", "Number of containers currently running", running),
    ...parts.map((part) => part.metrics()),
    "# HELP dray_log_lines_dropped_total Log lines that could not be written, such as on a full disk\n",
    "# TYPE dray_log_lines_dropped_total counter\n",
    `dray_log_lines_dropped_total ${log.droppedLines ?? 0}\n`,
  ].join("");
}
