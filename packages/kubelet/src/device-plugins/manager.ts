// biome-ignore lint/style/noRestrictedImports: it moves a damaged file as it is.
import { renameSync } from "node:fs";
import { join } from "node:path";
import { Quantity } from "@dray/api";
import type { Container, Pod, ResourceStatus } from "@dray/api/core/v1";
import { isSidecar } from "@dray/api/pod";
import type { Clock, Log } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import { shortened } from "../base/text.ts";
import type { PluginHandler } from "../dra/watcher.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { Refusal } from "../types/refusal.ts";
import { type Allocation, Allocations } from "./allocations.ts";
import { checkpointName, readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { chooseDevices, type TopologyPolicy } from "./choice.ts";
import { DevicePluginMetrics } from "./metrics.ts";
import { DevicePlugins, type PluginResources } from "./plugins.ts";
import type { Resource } from "./resources.ts";
import { type DeviceOptions, mergeResponses } from "./response.ts";
import { type Device, numaAffinity, numaNodesOf } from "./topology.ts";

/** Time in which changed lists of devices are gathered before they go to the checkpoint. */
const saveDelay = 1000;

export interface DevicePluginManagerOptions {
  readonly paths: NodePaths;
  readonly clock: Clock;
  readonly log: Log;
  /** Names this boot of the machine. */
  readonly bootId: string;
  /** By default `none`, as with the kubelet. */
  readonly topologyPolicy?: TopologyPolicy;
  /**
   * False once nothing of a pod can run on the node any more: its devices are free. True for a pod of which nothing is
   * known yet, after a start.
   */
  isActive(podUid: string): boolean;
  /** What `resources` returns has changed. */
  changed(): void;
  /** A plugin has come, or its devices are healthy again: containers of these pods that wait may be tried again. */
  retry(podUids: readonly string[]): void;
  /** What `health` returns for these pods has changed. */
  healthChanged?(podUids: readonly string[]): void;
}

/** A device on one of its NUMA nodes, as the pod resources API has it; a device on several comes once for each. */
export interface DeviceOnNode {
  readonly resource: string;
  readonly id: string;
  /** Undefined where its plugin says nothing of that. */
  readonly numaNode: number | undefined;
}

/**
 * The devices that plugins offer by number (device plugin API v1beta1): which there are, and which container holds
 * which. Rules and texts are those of the kubelet.
 *
 * Upstream: pkg/kubelet/cm/devicemanager/manager.go
 */
export class DevicePluginManager {
  readonly #options: DevicePluginManagerOptions;
  readonly #checkpoint: string;
  readonly #plugins: DevicePlugins;
  readonly #allocations = new Allocations();
  readonly #metrics = new DevicePluginMetrics();
  #closed = false;
  #cancelSave: (() => void) | undefined;
  /** The boot in which the checkpoint was written that was read at the start. */
  #restoredBoot: string | undefined;

  constructor(options: DevicePluginManagerOptions) {
    const { clock, log } = options;
    const directory = join(options.paths.kubelet, "device-plugins");
    this.#options = options;
    this.#checkpoint = join(directory, checkpointName);
    this.#plugins = new DevicePlugins({
      directory,
      clock,
      log,
      registered: (resource) => this.#metrics.registered(resource),
      amountsChanged: () => {
        this.#saveLater();
        options.changed();
      },
      devicesChanged: (resource, differs) => this.#devicesChanged(resource, differs),
    });
  }

  /**
   * Takes over what an earlier agent has allocated, and serves `kubelet.sock`. Rejects if the folder cannot be used. A
   * damaged checkpoint is logged and set aside under the name `kubelet_internal_checkpoint.damaged`: the kubelet goes on
   * without it, too.
   */
  async start(): Promise<void> {
    await this.#plugins.start(this.#restore());
  }

  /** The resources whose plugins had registered with an earlier agent. */
  #restore(): Iterable<string> {
    const { bootId, log } = this.#options;
    let checkpoint: ReturnType<typeof readCheckpoint>;
    try {
      checkpoint = readCheckpoint(this.#checkpoint);
    } catch (error) {
      const kept = `${this.#checkpoint}.damaged`;
      log.error(
        { err: error, kept },
        "the checkpoint of device plugins cannot be read: which container holds which device is forgotten",
      );
      renameSync(this.#checkpoint, kept);
      return [];
    }
    if (checkpoint === undefined) return [];
    this.#restoredBoot = checkpoint.bootId;
    const restored = checkpoint.bootId === bootId ? "restart" : "reboot";
    for (const entry of checkpoint.entries) this.#allocations.add({ ...entry, restored });
    return checkpoint.registered.keys();
  }

  /** Plugins and their sockets stay; calls that run are given up. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#cancelSave !== undefined)
      try {
        this.#saveNow();
      } catch (error) {
        this.#options.log.error({ err: error }, "the checkpoint of device plugins cannot be written");
      }
    await this.#plugins.close();
  }

  /** For plugins whose sockets lie in `plugins_registry`. */
  get registryHandler(): PluginHandler {
    return this.#plugins.registryHandler;
  }

  #devicesChanged(resource: Resource, differs: (id: string) => boolean): void {
    const { retry, healthChanged } = this.#options;
    this.#saveLater();
    const pods = this.#allocations.holders(resource.name, differs);
    if (pods.length > 0) healthChanged?.(pods);
    if (resource.healthy().some(({ id }) => differs(id)))
      retry(this.#allocations.holders(resource.name, () => true));
  }

  /** Capacity and allocatable by resource, for the Node's status; resources that went are 0. */
  resources(): PluginResources {
    return this.#plugins.amounts();
  }

  /**
   * The node's allocatable amounts for the look at a pod that holds devices: at least what is held already, so that it is
   * not refused because its plugin is away.
   *
   * Upstream: sanitizeNodeAllocatable.
   */
  allocatableFor(podUid: string, allocatable: Readonly<Record<string, string>>): Record<string, string> {
    const result = { ...allocatable };
    if (!this.#allocations.podUids.has(podUid)) return result;
    for (const [resource, count] of this.#allocations.heldCounts())
      if (Quantity.parse(result[resource] ?? "0").compare(Quantity.of(count)) < 0)
        result[resource] = String(count);
    return result;
  }

  // --- Pods -----------------------------------------------------------------------------------------------------

  /** Pods that hold devices, those of before a restart among them. */
  podUIDs(): ReadonlySet<string> {
    return this.#allocations.podUids;
  }

  /** Allocates for all containers of a new pod, init containers first; a refusal, or undefined. */
  async admit(pod: Pod): Promise<Refusal | undefined> {
    const { uid } = pod.metadata;
    try {
      const reusable = new Map<string, Set<string>>();
      for (const container of pod.spec.initContainers ?? []) {
        await this.#allocateContainer(pod, container, reusable);
        // A sidecar goes on beside the others, and keeps what it has.
        this.#reuse(uid, container, reusable, !isSidecar(container));
      }
      for (const container of pod.spec.containers) {
        await this.#allocateContainer(pod, container, reusable);
        this.#reuse(uid, container, reusable, false);
      }
      return undefined;
    } catch (error) {
      this.release(uid);
      return {
        reason: "UnexpectedAdmissionError",
        message: `Allocate failed due to ${shortened((error as Error).message)}, which is unexpected`,
      };
    }
  }

  /** Adds the devices of a container to those that later ones may use again, or takes them away. */
  #reuse(podUid: string, { name }: Container, reusable: Map<string, Set<string>>, add: boolean): void {
    for (const { resource, ids } of this.#allocations.ofContainer(podUid, name)) {
      const before = reusable.get(resource) ?? new Set();
      reusable.set(resource, add ? before.union(new Set(ids)) : before.difference(new Set(ids)));
    }
  }

  /** The resources of plugins that a container asks for, by name, with their numbers. */
  #requests(pod: Pod, container: Container): [resource: string, count: number][] {
    const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
    const isClaimed = (resource: string): boolean =>
      mappings.some(
        ({ containerName, resourceName }) => containerName === container.name && resourceName === resource,
      );
    const held = this.#allocations.heldCounts();
    return Object.entries(container.resources?.limits ?? {})
      .filter(([resource]) => this.#plugins.get(resource) !== undefined || held.has(resource))
      .map(([resource, quantity]): [string, number] => [resource, Number(Quantity.parse(quantity).value())])
      .filter(([resource, count]) => count > 0 && !isClaimed(resource))
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Rejects if devices are missing or a plugin refuses; what was allocated before then stays. */
  async #allocateContainer(
    pod: Pod,
    container: Container,
    reusable: ReadonlyMap<string, ReadonlySet<string>>,
  ): Promise<void> {
    const { uid } = pod.metadata;
    const requests = this.#requests(pod, container);
    if (requests.length === 0) return;
    this.#reclaim(uid);
    const open: typeof requests = [];
    for (const [name, count] of requests)
      if (!(await this.#hasDevices(uid, container.name, name, count))) open.push([name, count]);
    const affinity = numaAffinity(
      open.map(([name, count]) => ({ count, devices: this.#usable(name, reusable.get(name)) })),
    );
    for (const [name, count] of open) {
      const allocation = await this.#hold(uid, container.name, name, count, reusable.get(name), affinity);
      try {
        await this.#ask(allocation);
      } catch (error) {
        this.#allocations.delete(allocation);
        throw error;
      }
    }
    if (open.length > 0) this.#saveNow();
  }

  /** Healthy devices that nobody holds, and those that may be used again. */
  #usable(name: string, reusable: ReadonlySet<string> | undefined): Device[] {
    const held = this.#allocations.held(name);
    return (this.#plugins.get(name)?.healthy() ?? []).filter(({ id }) => !held.has(id) || reusable?.has(id));
  }

  /** True if the container has its devices from before. Throws if they, or any, cannot be had. */
  async #hasDevices(podUid: string, container: string, name: string, count: number): Promise<boolean> {
    const held = this.#allocations.get(podUid, container, name);
    if (held !== undefined && held.ids.length !== count)
      throw new Error(
        `pod "${podUid}" container "${container}" changed request for resource "${name}" from ${held.ids.length} to ${count}`,
      );
    // Its containers wait until the plugin has registered again (kubernetes#137919).
    if (held?.restored !== undefined && !this.#plugins.get(name)?.reported) return true;
    if (held === undefined) await this.#plugins.returned(name);
    const resource = this.#plugins.get(name);
    if (resource === undefined) throw new Error(`cannot allocate unregistered device ${name}`);
    if (resource.healthy().length === 0)
      throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${name}`);
    if (held !== undefined) checkHealthy(resource, held.ids);
    return held !== undefined;
  }

  /** Chooses devices, and holds them for a container that nobody has answered for yet. */
  async #hold(
    podUid: string,
    container: string,
    name: string,
    count: number,
    reusable: ReadonlySet<string> | undefined,
    affinity: ReadonlySet<number> | undefined,
  ): Promise<Allocation> {
    const resource = this.#plugins.get(name);
    if (resource === undefined) throw new Error(`unknown Device Plugin ${name}`);
    return resource.choosing(async () => {
      const held = this.#allocations.held(name);
      const ids = await chooseDevices({
        resource: name,
        required: count,
        reusable: reusable ?? new Set(),
        available: resource.healthy().filter(({ id }) => !held.has(id)),
        affinity,
        policy: this.#options.topologyPolicy ?? "none",
        preferred: async (...args) => resource.endpoint?.preferred(...args),
      });
      const numaNodes = new Map<string, readonly number[]>();
      for (const id of ids) {
        const nodes = resource.devices.get(id)?.numaNodes ?? [];
        if (nodes.length > 0) numaNodes.set(id, nodes);
      }
      const allocation: Allocation = {
        podUid,
        container,
        resource: name,
        ids: [...ids],
        numaNodes,
        response: undefined,
        restored: undefined,
      };
      this.#allocations.add(allocation);
      return allocation;
    });
  }

  /** Has the plugin set the devices up. */
  async #ask(allocation: Allocation): Promise<void> {
    const { resource, ids } = allocation;
    const endpoint = this.#plugins.get(resource)?.endpoint;
    if (endpoint === undefined) throw stopped(resource);
    const { clock } = this.#options;
    const began = clock.now();
    try {
      allocation.response = await endpoint.allocate(ids);
    } finally {
      this.#metrics.allocated(resource, clock.now() - began);
    }
  }

  /** Frees what pods hold that are gone, and that nobody released. */
  #reclaim(except: string): void {
    for (const uid of this.#allocations.podUids)
      if (uid !== except && !this.#options.isActive(uid)) this.#allocations.deletePod(uid);
  }

  /**
   * What a container gets, each time that it is started; has plugins prepare the devices that want it. Rejects with
   * CreateContainerConfigError while it has to wait.
   */
  async container(pod: Pod, container: Container): Promise<DeviceOptions> {
    const { uid } = pod.metadata;
    try {
      const requests = this.#requests(pod, container);
      for (const [name] of requests) {
        const held = this.#allocations.get(uid, container.name, name);
        if (held?.restored !== undefined) await this.#takeOver(held);
      }
      // The checkpoint was lost: devices are allocated as for a new container.
      const missing = requests.some(
        ([name]) => this.#allocations.get(uid, container.name, name) === undefined,
      );
      if (missing && this.#options.isActive(uid)) await this.#allocateContainer(pod, container, new Map());
      for (const [name] of requests) await this.#preStart(uid, container.name, name);
    } catch (error) {
      throw new RuntimeError("CreateContainerConfigError", shortened((error as Error).message), {
        cause: error,
      });
    }
    return mergeResponses(
      this.#allocations.ofContainer(uid, container.name).map(({ response }) => response),
      (path) => this.#options.paths.onMachine(path),
      (what, key, kept, left) =>
        this.#options.log.warn(
          {
            pod: pod.metadata.name,
            container: container.name,
            key: shortened(key, 200),
            kept: shortened(kept, 200),
            left: shortened(left, 200),
          },
          `device plugins disagree about an ${what}: the first one counts`,
        ),
    );
  }

  /** Makes an allocation of an earlier agent good again, once the plugin has said that its devices are there. */
  async #takeOver(held: Allocation): Promise<void> {
    const resource = this.#plugins.get(held.resource);
    if (resource === undefined || !resource.reported)
      throw new Error(
        `device plugin for resource ${held.resource} has not yet reported devices; the container starts once it has registered again`,
      );
    checkHealthy(resource, held.ids);
    if (held.restored === "reboot") {
      // What the plugin had set up went with the boot (kubernetes#67107).
      await this.#ask(held);
      held.restored = undefined;
      this.#saveNow();
    }
    held.restored = undefined;
  }

  async #preStart(podUid: string, container: string, name: string): Promise<void> {
    const resource = this.#plugins.get(name);
    if (resource === undefined)
      throw new Error(`endpoint not found in cache for a registered resource: ${name}`);
    if (!resource.preStartRequired) return;
    const held = this.#allocations.get(podUid, container, name);
    if (held === undefined)
      throw new Error(
        `no devices found allocated in local cache for pod ${podUid}, container ${container}, resource ${name}`,
      );
    if (resource.endpoint === undefined)
      throw new Error(`device plugin PreStartContainer rpc failed with err: ${stopped(name).message}`);
    await resource.endpoint.preStart(held.ids);
  }

  /** The devices of a container, for the pod resources API. */
  devices(podUid: string, container: string): readonly DeviceOnNode[] {
    return this.#allocations
      .ofContainer(podUid, container)
      .flatMap(({ resource, ids, numaNodes }) =>
        ids.flatMap((id) => onNodes(resource, id, numaNodes.get(id) ?? [])),
      );
  }

  /** All healthy devices. */
  allocatable(): readonly DeviceOnNode[] {
    return [...this.#plugins.all()].flatMap((resource) =>
      resource.healthy().flatMap(({ id, numaNodes }) => onNodes(resource.name, id, numaNodes)),
    );
  }

  /** In the text format of Prometheus. */
  metrics(): string {
    return this.#metrics.text();
  }

  /**
   * The health of a container's devices, as `allocatedResourcesStatus` has it where the gate ResourceHealthStatus is on
   * (KEP-4680): Unknown while their plugin is away.
   */
  health(podUid: string, container: string): readonly ResourceStatus[] {
    return this.#allocations.ofContainer(podUid, container).map(({ resource: name, ids }) => {
      const resource = this.#plugins.get(name);
      return {
        name,
        resources: ids.map((id) => {
          const device = resource?.current ? resource.devices.get(id) : undefined;
          const health = device === undefined ? "Unknown" : device.healthy ? "Healthy" : "Unhealthy";
          return { resourceID: id, health };
        }),
      };
    });
  }

  /** The pod has ended: its devices are free. May be repeated. */
  release(podUid: string): void {
    if (this.#allocations.deletePod(podUid)) this.#saveLater();
  }

  // --- Checkpoint -----------------------------------------------------------------------------------------------

  /** What need not be durable at once: what is released twice, and lists of devices. */
  #saveLater(): void {
    const { clock, log } = this.#options;
    if (this.#closed) return;
    this.#cancelSave ??= clock.after(saveDelay, () => {
      try {
        this.#save(false);
      } catch (error) {
        log.error({ err: error }, "the checkpoint of device plugins cannot be written");
        this.#saveLater();
      }
    });
  }

  #saveNow(): void {
    this.#save(true);
  }

  #save(durable: boolean): void {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    const registered = [...this.#plugins.all()].map(
      (resource) => [resource.name, resource.healthy().map(({ id }) => id)] as const,
    );
    // As long as something is left to be set up anew after a reboot, that must not be forgotten.
    const bootId = (this.#allocations.hasRebooted ? this.#restoredBoot : undefined) ?? this.#options.bootId;
    try {
      writeCheckpoint(
        this.#checkpoint,
        { entries: this.#allocations.complete(), registered: new Map(registered), bootId },
        durable,
      );
    } catch (error) {
      throw new Error(`failed to write checkpoint file "${checkpointName}": ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}

/** Upstream: pkg/kubelet/cm/container_manager.go, containerDevicesFromResourceDeviceInstances. */
function onNodes(resource: string, id: string, numaNodes: readonly number[]): DeviceOnNode[] {
  const nodes = numaNodes.length === 0 ? [undefined] : numaNodesOf(numaNodes);
  return nodes.map((numaNode) => ({ resource, id, numaNode }));
}

function checkHealthy(resource: Resource, ids: readonly string[]): void {
  if (ids.some((id) => resource.devices.get(id)?.healthy !== true))
    throw new Error(
      `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource.name}`,
    );
}

function stopped(resource: string): Error {
  return new Error(`endpoint of device plugin ${resource} has been stopped`);
}
