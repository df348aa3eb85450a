import { Quantity } from "@dray/api";
import type { Container, Pod } from "@dray/api/core/v1";
import { isSidecar } from "@dray/api/pod";
import type { Clock } from "@dray/client";
import type { Allocation, Allocations } from "./allocations.ts";
import { chooseDevices, type TopologyPolicy } from "./choice.ts";
import type { DevicePluginMetrics } from "./metrics.ts";
import type { DevicePlugins } from "./plugins.ts";
import type { Resource } from "./resources.ts";
import { type Device, numaAffinity } from "./topology.ts";

export interface DeviceAllocatorOptions {
  readonly plugins: DevicePlugins;
  readonly allocations: Allocations;
  readonly metrics: DevicePluginMetrics;
  readonly clock: Clock;
  readonly topologyPolicy?: TopologyPolicy;
  /** Containers of the pod run or may run. */
  isActive(podUid: string): boolean;
  /** Writes the checkpoint. */
  save(): void;
}

interface DeviceRequest {
  readonly podUid: string;
  /** Name of the container. */
  readonly container: string;
  /** Name of the resource. */
  readonly name: string;
  readonly count: number;
  /** IDs of devices of init containers that have ended. */
  readonly reusable: ReadonlySet<string>;
  readonly affinity: ReadonlySet<number> | undefined;
}

/**
 * Chooses the devices of containers, and has plugins set them up.
 *
 * Upstream: pkg/kubelet/cm/devicemanager/manager.go, Allocate, allocateContainerResources, devicesToAllocate.
 */
export class DeviceAllocator {
  readonly #options: DeviceAllocatorOptions;

  constructor(options: DeviceAllocatorOptions) {
    this.#options = options;
  }

  /**
   * Allocates for all containers of a pod, init containers first. Rejects if devices are missing or a plugin
   * refuses; earlier allocations stay.
   */
  async allocatePod(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    const reusable = new Map<string, Set<string>>();
    for (const container of pod.spec.initContainers ?? []) {
      await this.#allocateContainer(pod, container, reusable);
      // A sidecar runs beside the others, and keeps its devices.
      this.#reuse(uid, container, reusable, !isSidecar(container));
    }
    for (const container of pod.spec.containers) {
      await this.#allocateContainer(pod, container, reusable);
      this.#reuse(uid, container, reusable, false);
    }
  }

  /**
   * Makes the devices of a container ready for a start. Rejects while the container has to wait for a plugin.
   */
  async prepareStart(pod: Pod, container: Container): Promise<void> {
    const { allocations, isActive } = this.#options;
    const { uid } = pod.metadata;
    const requests = this.#requests(pod, container);
    for (const [name] of requests) {
      const held = allocations.get(uid, container.name, name);
      if (held?.restored !== undefined) await this.#takeOver(held);
    }
    // After a lost checkpoint, devices are allocated as for a new container.
    const missing = requests.some(([name]) => allocations.get(uid, container.name, name) === undefined);
    if (missing && isActive(uid)) await this.#allocateContainer(pod, container, new Map());
    for (const [name] of requests) await this.#preStart(uid, container.name, name);
  }

  /** Adds the devices of a container to those that later ones may use again, or takes them away. */
  #reuse(podUid: string, { name }: Container, reusable: Map<string, Set<string>>, add: boolean): void {
    for (const { resource, ids } of this.#options.allocations.ofContainer(podUid, name)) {
      const before = reusable.get(resource) ?? new Set();
      reusable.set(resource, add ? before.union(new Set(ids)) : before.difference(new Set(ids)));
    }
  }

  /** Resources of plugins that a container requests, by name, with their counts. */
  #requests(pod: Pod, container: Container): [resource: string, count: number][] {
    const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
    const isClaimed = (resource: string): boolean =>
      mappings.some(
        ({ containerName, resourceName }) => containerName === container.name && resourceName === resource,
      );
    const held = this.#options.allocations.heldCounts();
    return Object.entries(container.resources?.limits ?? {})
      .filter(([resource]) => this.#options.plugins.get(resource) !== undefined || held.has(resource))
      .map(([resource, quantity]): [string, number] => [resource, Number(Quantity.parse(quantity).value())])
      .filter(([resource, count]) => count > 0 && !isClaimed(resource))
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Rejects if devices are missing or a plugin refuses; earlier allocations stay. */
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
      const allocation = await this.#hold({
        podUid: uid,
        container: container.name,
        name,
        count,
        reusable: reusable.get(name) ?? new Set(),
        affinity,
      });
      try {
        await this.#ask(allocation);
      } catch (error) {
        this.#options.allocations.delete(allocation);
        throw error;
      }
    }
    if (open.length > 0) this.#options.save();
  }

  /** Healthy devices that are not allocated, or may be reused. */
  #usable(name: string, reusable: ReadonlySet<string> | undefined): Device[] {
    const held = this.#options.allocations.held(name);
    return (this.#options.plugins.get(name)?.healthy() ?? []).filter(
      ({ id }) => !held.has(id) || reusable?.has(id),
    );
  }

  /** Returns true if the container already has its devices. Throws if they cannot be allocated. */
  async #hasDevices(podUid: string, container: string, name: string, count: number): Promise<boolean> {
    const held = this.#options.allocations.get(podUid, container, name);
    if (held !== undefined && held.ids.length !== count)
      throw new Error(
        `pod "${podUid}" container "${container}" changed request for resource "${name}" from ${held.ids.length} to ${count}`,
      );
    // The container waits until the plugin has registered again (kubernetes#137919).
    if (held?.restored !== undefined && !this.#options.plugins.get(name)?.reported) return true;
    if (held === undefined) await this.#options.plugins.returned(name);
    const resource = this.#options.plugins.get(name);
    if (resource === undefined) throw new Error(`cannot allocate unregistered device ${name}`);
    if (resource.healthy().length === 0)
      throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${name}`);
    if (held !== undefined) checkHealthy(resource, held.ids);
    return held !== undefined;
  }

  /** Chooses and allocates devices, before the plugin has set them up. */
  async #hold({ podUid, container, name, count, reusable, affinity }: DeviceRequest): Promise<Allocation> {
    const resource = this.#options.plugins.get(name);
    if (resource === undefined) throw new Error(`unknown Device Plugin ${name}`);
    return resource.choosing(async () => {
      const held = this.#options.allocations.held(name);
      const ids = await chooseDevices({
        resource: name,
        required: count,
        reusable,
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
      this.#options.allocations.add(allocation);
      return allocation;
    });
  }

  /** Calls Allocate of the plugin. */
  async #ask(allocation: Allocation): Promise<void> {
    const { resource, ids } = allocation;
    const endpoint = this.#options.plugins.get(resource)?.endpoint;
    if (endpoint === undefined) throw stopped(resource);
    const { clock } = this.#options;
    const began = clock.now();
    try {
      allocation.response = await endpoint.allocate(ids);
    } finally {
      this.#options.metrics.allocated(resource, clock.now() - began);
    }
  }

  /** Frees devices of pods that are gone and were not released. */
  #reclaim(except: string): void {
    for (const uid of this.#options.allocations.podUids)
      if (uid !== except && !this.#options.isActive(uid)) this.#options.allocations.deletePod(uid);
  }

  /** Takes over an allocation from the checkpoint, once the plugin has reported its devices. */
  async #takeOver(held: Allocation): Promise<void> {
    const resource = this.#options.plugins.get(held.resource);
    if (resource === undefined || !resource.reported)
      throw new Error(
        `device plugin for resource ${held.resource} has not yet reported devices; the container starts once it has registered again`,
      );
    checkHealthy(resource, held.ids);
    if (held.restored === "reboot") {
      // A reboot undoes what the plugin had set up (kubernetes#67107).
      await this.#ask(held);
      held.restored = undefined;
      this.#options.save();
    }
    held.restored = undefined;
  }

  async #preStart(podUid: string, container: string, name: string): Promise<void> {
    const resource = this.#options.plugins.get(name);
    if (resource === undefined)
      throw new Error(`endpoint not found in cache for a registered resource: ${name}`);
    if (!resource.preStartRequired) return;
    const held = this.#options.allocations.get(podUid, container, name);
    if (held === undefined)
      throw new Error(
        `no devices found allocated in local cache for pod ${podUid}, container ${container}, resource ${name}`,
      );
    if (resource.endpoint === undefined)
      throw new Error(`device plugin PreStartContainer rpc failed with err: ${stopped(name).message}`);
    await resource.endpoint.preStart(held.ids);
  }
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
