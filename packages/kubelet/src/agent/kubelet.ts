import { join } from "node:path";
import { SysctlAllowlist } from "../containers/sysctls.ts";
import { defaultLogLimits, LogRotation } from "../logs/log-rotation.ts";
import { declaredFeatures } from "../node/declared-features.ts";
import { Registration } from "../node/registration.ts";
import { RuntimeProblems } from "../node/runtime-problems.ts";
import { NodeShutdown } from "../node/shutdown.ts";
import { OrphanSweep } from "../pods/orphans.ts";
import { PodManager } from "../pods/pod-manager.ts";
import { PodWorkers } from "../pods/pod-workers.ts";
import type { WorkerContext } from "../pods/worker-context.ts";
import { Probes } from "../prober/probes.ts";
import { ClusterServices } from "./cluster-services.ts";
import { type AgentContext, createContext } from "./context.ts";
import { createDevices, type Devices } from "./devices.ts";
import { endAll } from "./end-all.ts";
import type { Kubelet, KubeletOptions } from "./options.ts";
import { createResourcePressure, type ResourcePressure } from "./resource-pressure.ts";
import { createServers, type NodeServers } from "./servers.ts";
import { createVolumes, type NodeVolumes } from "./volumes.ts";
import { createWorkerContext } from "./worker-context.ts";

/**
 * Starts the agent of one node. Resolves when the node is registered and its pods are followed. Rejects if
 * the root cannot be used or a checkpoint is damaged.
 */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const agent = new NodeAgent(options);
  const port = await agent.start();
  return {
    nodeName: options.nodeName,
    port,
    limits: agent.limits,
    shutDown: () => agent.shutDown(),
    stop: ({ leavePods }) => agent.close(leavePods),
  };
}

/** The parts of the agent of one node, and the order in which they start and stop. */
class NodeAgent {
  readonly #stop = new AbortController();
  readonly #giveUp: () => void;
  readonly #context: AgentContext;
  readonly #services: ClusterServices;
  readonly #pods: PodManager;
  readonly #workers: PodWorkers;
  readonly #devices: Devices;
  readonly #volumes: NodeVolumes;
  readonly #probes: Probes;
  readonly #pressure: ResourcePressure;
  readonly #servers: NodeServers;
  readonly #problems: RuntimeProblems;
  readonly #shutdown: NodeShutdown;
  readonly #sweep: OrphanSweep;
  readonly #logs: LogRotation;
  /** Undefined before the runtime and the endpoints of the node are known. */
  #registration: Registration | undefined;

  constructor(options: KubeletOptions) {
    this.#giveUp = () => this.#stop.abort(options.signal?.reason);
    const sysctls = new SysctlAllowlist(options.allowedUnsafeSysctls);
    const context = createContext(options, this.#stop.signal);
    options.signal?.addEventListener("abort", this.#giveUp, { once: true });
    this.#context = context;
    const { clock, log, runtime, paths, events, node } = context;
    const nodeChanged = (): void => this.#registration?.changed();
    this.#pods = this.#createPods();
    this.#services = new ClusterServices(context, () => this.#pods.list());
    let workerContext: WorkerContext;
    this.#workers = new PodWorkers({
      ...context,
      pod: (uid) => this.#pods.get(uid),
      context: () => workerContext,
    });
    this.#devices = createDevices(context, this.#workers, nodeChanged);
    this.#volumes = createVolumes(context, this.#pods, this.#workers);
    this.#probes = this.#createProbes();
    const { volumes } = this.#volumes;
    this.#problems = new RuntimeProblems({ runtime, clock, log, changed: nodeChanged });
    this.#shutdown = new NodeShutdown({
      clock,
      log,
      periods: options.shutdown ?? { gracePeriod: 0, gracePeriodCriticalPods: 0 },
      signal: context.signal,
      pods: () => this.#workers.running(),
      reportNode: async () => this.#registration?.reportNow(),
      event: (reason, message) => events.event(node.current, "Normal", reason, message),
    });
    this.#sweep = new OrphanSweep({
      paths,
      clock,
      log,
      sandboxed: async () => new Set((await runtime.listPodSandboxes()).map(({ config }) => config.uid)),
      isKnown: (uid) => this.#workers.has(uid) || this.#pods.get(uid) !== undefined,
    });
    this.#pressure = createResourcePressure(context, this.#workers, volumes, nodeChanged);
    const shared = { pods: this.#pods, volumes, services: this.#services };
    workerContext = createWorkerContext(context, {
      ...shared,
      workers: this.#workers,
      devices: this.#devices,
      probes: this.#probes,
      refusals: [
        (pod) => this.#pressure.evictions.refusal(pod),
        (pod) => sysctls.refusal(pod),
        () => this.#shutdown.refusal,
      ],
    });
    const { dra, plugins, podResources } = this.#devices;
    this.#servers = createServers(context, {
      ...shared,
      probes: this.#probes.metrics,
      metrics: [dra, plugins, podResources, this.#volumes.certificates],
    });
    this.#logs = new LogRotation({ runtime, clock, log, limits: { ...defaultLogLimits, ...options.logs } });
  }

  #createPods(): PodManager {
    const { options, paths, node } = this.#context;
    return new PodManager({
      ...this.#context,
      staticPodPath: options.staticPodPath ?? join(paths.root, "etc/kubernetes/manifests"),
      node: () => node.current,
      changed: (uid) => this.#workers.add(uid),
      removed: (uid) => this.#workers.requeue(uid),
    });
  }

  #createProbes(): Probes {
    const { runtime, clock, log, events } = this.#context;
    return new Probes({
      runtime,
      clock,
      log,
      changed: (podUid) => this.#workers.requeue(podUid),
      event: (podUid, reason, message) => {
        const pod = this.#pods.get(podUid);
        if (pod !== undefined) events.event(pod, "Warning", reason, message);
      },
    });
  }

  get limits(): readonly string[] {
    return this.#context.runtime.limits;
  }

  /** Resolves with the port of the node's HTTPS endpoints. */
  async start(): Promise<number> {
    const { runtime, images, log, nodeName } = this.#context;
    let port: number;
    try {
      port = await this.#startParts();
    } catch (error) {
      await this.close(true);
      throw error;
    }
    // Pods that run or hold devices here, and were removed while no agent ran.
    for (const { config } of await runtime.listPodSandboxes()) this.#workers.add(config.uid);
    const { dra, plugins } = this.#devices;
    for (const uid of [...dra.podUIDs(), ...plugins.podUIDs()]) this.#workers.add(uid);
    this.#devices.podsKnown();
    await this.#sweep.start();
    this.#pressure.evictions.start();
    if (images.pulls) this.#pressure.images.start();
    this.#logs.start();
    log.info({ node: nodeName, port, limits: runtime.limits }, "node agent started");
    return port;
  }

  async #startParts(): Promise<number> {
    const { runtime, node, options, nodeAddress, signal } = this.#context;
    await runtime.start();
    const port = await this.#servers.node.listen(options.port);
    if (options.readOnlyPort !== undefined) {
      const at = { port: options.readOnlyPort, host: options.address ?? nodeAddress };
      await this.#servers.readOnly.listen((await runtime.nodeNetwork?.listen(at.port)) ?? at);
    }
    await this.#devices.serve();
    await this.#problems.start();
    this.#registration = this.#createRegistration(port);
    await this.#registration.start();
    await this.#devices.watch();
    runtime.onChange((uid) => this.#workers.requeue(uid));
    this.#pods.follow();
    node.follow(signal);
    // Before the pods, which get variables of the Services that exist when they start.
    await this.#services.informer.start(signal);
    await Promise.race([this.#services.join(), aborted(signal)]);
    signal.throwIfAborted();
    await this.#pods.start(signal);
    signal.throwIfAborted();
    this.#services.writeNames();
    if (options.healthzPort !== undefined)
      await this.#servers.health.listen({ port: options.healthzPort, host: "127.0.0.1" });
    this.#services.lead();
    return port;
  }

  #createRegistration(kubeletPort: number): Registration {
    const { client, clock, log, nodeName, nodeAddress, features, runtime, images, signal, node, options } =
      this.#context;
    const podCidr = runtime.network?.podCidr;
    return new Registration({
      client,
      clock,
      log,
      nodeName,
      nodeAddress,
      labels: options.labels ?? {},
      taints: options.taints ?? [],
      capacity: options.capacity ?? {},
      devices: () => this.#devices.plugins.resources(),
      declaredFeatures: declaredFeatures(features),
      containerRuntimeVersion: `${runtime.name}://${runtime.version}`,
      kubeletPort,
      ...(podCidr !== undefined && { podCidr }),
      problem: () => this.#problems.text ?? this.#shutdown.problem,
      images: () => (images.pulls ? this.#pressure.images.nodeImages : undefined),
      pressure: () => this.#pressure.evictions.conditions,
      signal,
      changed: (changed) => node.see(changed),
    });
  }

  shutDown(): Promise<void> {
    return this.#shutdown.run();
  }

  /** Stops the agent. Its pods run on if `leavePods` is set, else they are ended. */
  async close(leavePods: boolean): Promise<void> {
    const { options, runtime, events, log } = this.#context;
    options.signal?.removeEventListener("abort", this.#giveUp);
    this.#sweep.stop();
    this.#stop.abort();
    await this.#pods.stop();
    await this.#pressure.evictions.stop();
    await this.#pressure.images.stop();
    await this.#logs.stop();
    this.#problems.stop();
    await this.#registration?.stop();
    await this.#services.stop();
    await this.#workers.close();
    await this.#volumes.certificates.stop();
    if (!leavePods) {
      await endAll({ runtime, dra: this.#devices.dra, probes: this.#probes, log });
      this.#volumes.volumes.close();
    }
    this.#probes.close();
    await this.#devices.close();
    await this.#servers.node.close();
    await this.#servers.health.close();
    await this.#servers.readOnly.close();
    await runtime.close();
    await events.flush();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
