import { chmodSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { Clock, Log } from "@dray/client";
import { makeFolder } from "@dray/files";
import { checkSocketPath, removeStaleSocket } from "@dray/rpc";
import {
  type Container,
  type ContainerAdjustment,
  type ContainerEviction,
  type ContainerUpdate,
  type LinuxResources,
  type PodSandbox,
  ValidateContainerAdjustmentRequest,
} from "@dray/rpc/nri/v1alpha1";
import { CreateResult } from "./create-result.ts";
import { maxLoggedText, warnOfEvictions } from "./evictions.ts";
import { Owners } from "./owners.ts";
import { NriPlugin, type PluginContext, type PluginRequest } from "./plugin.ts";
import { SyncGate } from "./sync-gate.ts";
import { Updates } from "./updates.ts";

/** Maximum number of log lines about one request of a plugin. */
const maxLoggedFailures = 10;

/** Pods and containers in NRI's form. */
export interface NriState {
  readonly pods: readonly PodSandbox[];
  readonly containers: readonly Container[];
}

export interface NriServerOptions {
  /** `/var/run/nri/nri.sock` below the node's root. */
  readonly socketPath: string;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Pods and containers for a plugin that connects. No event is sent before the plugin has them. */
  state(): Promise<NriState>;
  /** Applies updates of plugins to existing containers. Returns those that failed. */
  updateContainers(updates: readonly ContainerUpdate[]): Promise<readonly ContainerUpdate[]>;
  /** Milliseconds; 5000 by default. */
  readonly registrationTimeout?: number;
  /** Milliseconds; 2000 by default. */
  readonly requestTimeout?: number;
}

/** Changes of plugins to a container that is being created. */
export interface Adjustment {
  readonly adjust: ContainerAdjustment;
  /** Updates of other containers. */
  readonly update: readonly ContainerUpdate[];
  readonly evict: readonly ContainerEviction[];
}

/** Changes of plugins to an update. */
export interface AdjustedUpdate {
  /** Resources of the updated container, with the changes of plugins. */
  readonly resources: LinuxResources | undefined;
  /** Updates of other containers. */
  readonly update: readonly ContainerUpdate[];
  readonly evict: readonly ContainerEviction[];
}

/**
 * The runtime's side of NRI, the Node Resource Interface: plugins connect to its socket, and see and change
 * the life of pods and containers. Requests go to one plugin after the other, by index, one request at a
 * time. A request that a plugin refuses, or that two plugins disagree about, rejects; a plugin that does not
 * respond in time is dropped, and the request goes on without it.
 *
 * Upstream: containerd/nri, pkg/adaptation/adaptation.go.
 */
export class NriServer {
  readonly #options: NriServerOptions;
  readonly #context: PluginContext;
  readonly #connections = new Set<NriPlugin>();
  /** Synchronized plugins in the order of their calls. */
  #plugins: readonly NriPlugin[] = [];
  #server: Server | undefined;
  readonly #gate = new SyncGate();
  /** Resolves when the last request has ended. */
  #lastRequest: Promise<unknown> = Promise.resolve();

  constructor(options: NriServerOptions) {
    const { runtimeName, runtimeVersion, registrationTimeout = 5000, requestTimeout = 2000 } = options;
    const { clock, log } = options;
    this.#options = options;
    this.#context = {
      runtimeName,
      runtimeVersion,
      registrationTimeout,
      requestTimeout,
      clock,
      log,
      updateContainers: (plugin, updates, evictions) => this.#updateContainers(plugin, updates, evictions),
    };
  }

  /** Listens; replaces the socket of a killed server. Rejects if another file is there. */
  async start(): Promise<void> {
    const { socketPath, log } = this.#options;
    checkSocketPath(socketPath);
    await makeFolder(dirname(socketPath), 0o700);
    await removeStaleSocket(socketPath);
    const server = createServer((socket) => void this.#connected(socket));
    server.on("error", (error) => log.error({ error: error.message }, "NRI socket failed"));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(socketPath, () => {
        server.off("error", reject);
        resolve();
      });
    });
    chmodSync(socketPath, 0o600);
    this.#server = server;
  }

  /** Ends all connections, and removes the socket. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise((resolve) =>
      server === undefined ? resolve(undefined) : server.close(resolve),
    );
    for (const plugin of this.#connections) plugin.close();
    await Promise.all([closed, ...[...this.#connections].map((plugin) => plugin.closed)]);
  }

  /** Names of the connected plugins in order. */
  get plugins(): readonly string[] {
    return this.#plugins.filter(({ open }) => open).map(({ name }) => name);
  }

  /**
   * Runs a change of pods or containers: no plugin is synchronized meanwhile, so that it gets each pod and
   * container once. Must not be nested.
   */
  change<T>(run: () => Promise<T>): Promise<T> {
    return this.#gate.shared(run);
  }

  runPodSandbox(pod: PodSandbox): Promise<void> {
    return this.#notify("runPodSandbox", { pod });
  }

  updatePodSandbox(
    pod: PodSandbox,
    overheadLinuxResources: LinuxResources | undefined,
    linuxResources: LinuxResources | undefined,
  ): Promise<void> {
    return this.#notify("updatePodSandbox", { pod, overheadLinuxResources, linuxResources });
  }

  postUpdatePodSandbox(pod: PodSandbox): Promise<void> {
    return this.#notify("postUpdatePodSandbox", { pod });
  }

  stopPodSandbox(pod: PodSandbox): Promise<void> {
    return this.#notify("stopPodSandbox", { pod });
  }

  removePodSandbox(pod: PodSandbox): Promise<void> {
    return this.#notify("removePodSandbox", { pod });
  }

  /** Rejects if a plugin refuses, two disagree, or a validator rejects the result. */
  createContainer(pod: PodSandbox, container: Container): Promise<Adjustment> {
    return this.#serialize(async (plugins) => {
      const owners = new Owners();
      const updates = new Updates(owners);
      const result = new CreateResult(container, owners, updates);
      const evict: ContainerEviction[] = [];
      for (const plugin of plugins) {
        const request = { pod, container: result.container };
        const answer = await plugin.request("createContainer", request);
        if (answer === undefined) continue;
        result.apply(answer, plugin.name);
        for (const each of answer.evict) evict.push(each);
      }
      const { adjust } = result;
      const validation = ValidateContainerAdjustmentRequest.fromPartial({
        pod,
        container,
        adjust,
        update: updates.others(),
        owners: owners.message(),
        plugins: plugins.map(({ baseName, index }) => ({ name: baseName, index })),
      });
      const validators = plugins.filter(({ open }) => open);
      await Promise.all(validators.map((plugin) => validate(plugin, validation)));
      return { adjust, update: updates.others(), evict };
    });
  }

  postCreateContainer(pod: PodSandbox, container: Container): Promise<void> {
    return this.#notify("postCreateContainer", { pod, container });
  }

  startContainer(pod: PodSandbox, container: Container): Promise<void> {
    return this.#notify("startContainer", { pod, container });
  }

  postStartContainer(pod: PodSandbox, container: Container): Promise<void> {
    return this.#notify("postStartContainer", { pod, container });
  }

  /** `resources` are the wanted ones. Rejects if a plugin refuses or two disagree. */
  updateContainer(
    pod: PodSandbox,
    container: Container,
    resources: LinuxResources | undefined,
  ): Promise<AdjustedUpdate> {
    return this.#serialize(async (plugins) => {
      const updates = new Updates(new Owners());
      updates.begin(container.id, resources);
      const evict: ContainerEviction[] = [];
      for (const plugin of plugins) {
        const request = { pod, container, linuxResources: updates.of(container.id) };
        const answer = await plugin.request("updateContainer", request);
        for (const each of answer?.update ?? []) updates.apply(each, plugin.name);
        for (const each of answer?.evict ?? []) evict.push(each);
      }
      return { resources: updates.of(container.id), update: updates.others(container.id), evict };
    });
  }

  postUpdateContainer(pod: PodSandbox, container: Container): Promise<void> {
    return this.#notify("postUpdateContainer", { pod, container });
  }

  /** Resolves with updates of other containers, now that this one is gone. */
  stopContainer(pod: PodSandbox, container: Container): Promise<readonly ContainerUpdate[]> {
    return this.#serialize(async (plugins) => {
      const updates = new Updates(new Owners());
      for (const plugin of plugins) {
        const answer = await plugin.request("stopContainer", { pod, container });
        for (const each of answer?.update ?? []) updates.apply(each, plugin.name);
      }
      return updates.others();
    });
  }

  removeContainer(pod: PodSandbox, container: Container): Promise<void> {
    return this.#notify("removeContainer", { pod, container });
  }

  /** For requests with empty responses. */
  #notify<R extends PluginRequest>(
    name: R,
    request: Parameters<typeof NriPlugin.prototype.request<R>>[1],
  ): Promise<void> {
    return this.#serialize(async (plugins) => {
      for (const plugin of plugins) await plugin.request(name, request);
    });
  }

  /** Serializes requests: all plugins see one order, and none while another is synchronized. */
  #serialize<T>(run: (plugins: readonly NriPlugin[]) => Promise<T>): Promise<T> {
    const result = this.#lastRequest.then(() => {
      this.#plugins = this.#plugins.filter(({ open }) => open);
      return run(this.#plugins);
    });
    this.#lastRequest = result.catch(() => {});
    return result;
  }

  async #connected(socket: Socket): Promise<void> {
    const { log } = this.#options;
    const plugin = new NriPlugin(socket, this.#context);
    this.#connections.add(plugin);
    void plugin.closed.then(() => {
      this.#connections.delete(plugin);
      if (plugin.baseName !== "") log.info({ plugin: plugin.name }, "NRI plugin has gone");
    });
    try {
      await plugin.start();
      const synchronize = async (plugins: readonly NriPlugin[]): Promise<ContainerUpdate[]> => {
        const { pods, containers } = await this.#options.state();
        const wanted = await plugin.synchronize(pods, containers);
        this.#plugins = [...plugins, plugin].sort((a, b) =>
          a.index < b.index ? -1 : a.index > b.index ? 1 : 0,
        );
        return wanted;
      };
      const updates = await this.#gate.exclusive(() => this.#serialize(synchronize));
      log.info({ plugin: plugin.name }, "NRI plugin connected");
      if (updates.length > 0) await this.#updateContainers(plugin.name, updates, []);
    } catch (error) {
      log.warn({ plugin: plugin.name, error: (error as Error).message }, "NRI plugin refused");
      plugin.close();
    }
  }

  async #updateContainers(
    plugin: string,
    updates: readonly ContainerUpdate[],
    evictions: readonly ContainerEviction[],
  ): Promise<readonly ContainerUpdate[]> {
    const { log } = this.#options;
    warnOfEvictions(log, evictions, plugin);
    const failed = await this.#options.updateContainers(updates);
    const unexpected = failed.filter(({ ignoreFailure }) => !ignoreFailure);
    for (const { containerId } of unexpected.slice(0, maxLoggedFailures))
      log.warn({ plugin, container: containerId.slice(0, maxLoggedText) }, "NRI plugin's update failed");
    if (unexpected.length > maxLoggedFailures)
      log.warn({ plugin, failed: unexpected.length }, "more updates of an NRI plugin failed");
    return failed;
  }
}

async function validate(plugin: NriPlugin, request: ValidateContainerAdjustmentRequest): Promise<void> {
  const answer = await plugin.request("validateContainerAdjustment", request);
  // A validator that is dropped has not agreed.
  if (answer === undefined && plugin.wants("validateContainerAdjustment"))
    throw new Error(`validator plugin ${plugin.name} failed`);
  if (answer?.reject)
    throw new Error(
      `validator plugin ${JSON.stringify(plugin.name)} rejected container adjustment, reason: ${answer.reason}`,
    );
}
