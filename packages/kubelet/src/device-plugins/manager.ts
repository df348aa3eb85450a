// biome-ignore lint/style/noRestrictedImports: it moves a damaged file as it is.
import { renameSync } from "node:fs";
import { join } from "node:path";
import { Quantity } from "@dray/api";
import type { Container, Pod, ResourceStatus } from "@dray/api/core/v1";

import type { Clock, Log } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import { shortened } from "../base/text.ts";
import type { PluginHandler } from "../dra/watcher.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { Refusal } from "../types/refusal.ts";
import { Allocations } from "./allocations.ts";
import { DeviceAllocator } from "./allocator.ts";
import { checkpointName, readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import type { TopologyPolicy } from "./choice.ts";
import { DevicePluginMetrics } from "./metrics.ts";
import { DevicePlugins, type PluginResources } from "./plugins.ts";
import type { Resource } from "./resources.ts";
import { type DeviceOptions, mergeResponses } from "./response.ts";
import { numaNodesOf } from "./topology.ts";

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
  readonly #allocator: DeviceAllocator;
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
    const { topologyPolicy } = options;
    this.#allocator = new DeviceAllocator({
      plugins: this.#plugins,
      allocations: this.#allocations,
      metrics: this.#metrics,
      clock,
      ...(topologyPolicy !== undefined && { topologyPolicy }),
      isActive: (uid) => options.isActive(uid),
      save: () => this.#saveNow(),
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
      await this.#allocator.allocatePod(pod);
      return undefined;
    } catch (error) {
      this.release(uid);
      return {
        reason: "UnexpectedAdmissionError",
        message: `Allocate failed due to ${shortened((error as Error).message)}, which is unexpected`,
      };
    }
  }

  /**
   * What a container gets, each time that it is started; has plugins prepare the devices that want it. Rejects with
   * CreateContainerConfigError while it has to wait.
   */
  async container(pod: Pod, container: Container): Promise<DeviceOptions> {
    const { uid } = pod.metadata;
    try {
      await this.#allocator.prepareStart(pod, container);
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
