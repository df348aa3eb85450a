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

/** Debounce of checkpoints after changes of devices, in milliseconds. */
const saveDelay = 1000;

export interface DevicePluginManagerOptions {
  readonly paths: NodePaths;
  readonly clock: Clock;
  readonly log: Log;
  /** ID of this boot of the machine. */
  readonly bootId: string;
  /** `none` by default, as upstream. */
  readonly topologyPolicy?: TopologyPolicy;
  /**
   * Returns false once no container of a pod can run any more: its devices are free. Returns true for pods
   * that are not known yet after a start.
   */
  isActive(podUid: string): boolean;
  /** Called when the result of `resources` has changed. */
  changed(): void;
  /**
   * Called when waiting containers of these pods may be started: a plugin has registered, or devices are
   * healthy again.
   */
  retry(podUids: readonly string[]): void;
  /** Called when the result of `health` has changed for these pods. */
  healthChanged?(podUids: readonly string[]): void;
}

/**
 * A device on one of its NUMA nodes, as in the pod resources API; a device on several nodes is listed once
 * for each.
 */
export interface DeviceOnNode {
  readonly resource: string;
  readonly id: string;
  /** Undefined if the plugin reports none. */
  readonly numaNode: number | undefined;
}

/**
 * Devices of device plugins (v1beta1), and the containers that hold them.
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
  /** The boot in which the restored checkpoint was written. */
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
   * Restores allocations from the checkpoint, and serves `kubelet.sock`. Rejects if the folder cannot be
   * used. A damaged checkpoint is logged and renamed to `kubelet_internal_checkpoint.damaged`, and the agent
   * goes on without it, as upstream.
   */
  async start(): Promise<void> {
    await this.#plugins.start(this.#restore());
  }

  /** Returns the resources whose plugins had registered with an earlier agent. */
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

  /** Cancels running calls. Plugins and their sockets stay. */
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

  /** Registers plugins whose sockets lie in `plugins_registry`. */
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

  /** Capacity and allocatable by resource for the Node's status; removed resources are 0. */
  resources(): PluginResources {
    return this.#plugins.amounts();
  }

  /**
   * Returns the node's allocatable amounts for the admission of a pod that holds devices: at least what is
   * held, so that the pod is not refused while its plugin is away.
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

  /** Pods that hold devices, including those from the checkpoint. */
  podUIDs(): ReadonlySet<string> {
    return this.#allocations.podUids;
  }

  /** Allocates for all containers of a new pod, init containers first. Returns a refusal, or undefined. */
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
   * Returns what the container gets at a start; calls PreStartContainer if the plugin requires it. Rejects
   * with CreateContainerConfigError while the container has to wait.
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

  /** Devices of a container, for the pod resources API. */
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

  /** Metrics in the text format of Prometheus. */
  metrics(): string {
    return this.#metrics.text();
  }

  /**
   * Health of a container's devices for `allocatedResourcesStatus` (gate ResourceHealthStatus, KEP-4680):
   * Unknown while their plugin is away.
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

  /** Frees the devices of a pod that has ended. May be repeated. */
  release(podUid: string): void {
    if (this.#allocations.deletePod(podUid)) this.#saveLater();
  }

  /**
   * Writes the checkpoint later, for changes that are repeated after a crash: releases, and lists of devices.
   */
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
    // Keeps the boot ID while an allocation has to be set up anew after a reboot.
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
