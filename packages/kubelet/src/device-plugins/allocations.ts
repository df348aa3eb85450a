import type { ContainerAllocateResponse } from "@dray/rpc/deviceplugin/v1beta1";
import type { CheckpointEntry } from "./checkpoint.ts";

/** Devices of one resource that are allocated to a container. */
export interface Allocation {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
  /** By device ID, at the time of the allocation; absent for a device without NUMA nodes. */
  readonly numaNodes: ReadonlyMap<string, readonly number[]>;
  /** Response to Allocate; undefined while the call runs. */
  response: ContainerAllocateResponse | undefined;
  /**
   * Set for an allocation from the checkpoint until its plugin has reported the devices again. After a reboot
   * the plugin has to set them up anew.
   */
  restored: "restart" | "reboot" | undefined;
}

/** An allocation with the response of its plugin. */
export type Complete = Allocation & { readonly response: ContainerAllocateResponse };

/** Allocated devices, by container. */
export class Allocations {
  /** By UID of the pod, container and resource. */
  readonly #pods = new Map<string, Map<string, Map<string, Allocation>>>();

  get podUids(): ReadonlySet<string> {
    return new Set(this.#pods.keys());
  }

  get(podUid: string, container: string, resource: string): Allocation | undefined {
    return this.#pods.get(podUid)?.get(container)?.get(resource);
  }

  /** Allocations of a container, in the order of resource names. */
  ofContainer(podUid: string, container: string): Complete[] {
    return [...(this.#pods.get(podUid)?.get(container)?.values() ?? [])]
      .filter(isComplete)
      .sort((a, b) => (a.resource < b.resource ? -1 : 1));
  }

  add(allocation: Allocation): void {
    const { podUid, container, resource } = allocation;
    const containers = this.#pods.get(podUid) ?? new Map<string, Map<string, Allocation>>();
    const resources = containers.get(container) ?? new Map<string, Allocation>();
    this.#pods.set(podUid, containers.set(container, resources.set(resource, allocation)));
  }

  /** Removes this allocation, but not one that has replaced it. */
  delete(allocation: Allocation): void {
    const { podUid, container, resource } = allocation;
    if (this.get(podUid, container, resource) !== allocation) return;
    const containers = this.#pods.get(podUid);
    const resources = containers?.get(container);
    resources?.delete(resource);
    if (resources?.size === 0) containers?.delete(container);
    if (containers?.size === 0) this.#pods.delete(podUid);
  }

  /** Returns true if the pod had allocations. */
  deletePod(podUid: string): boolean {
    return this.#pods.delete(podUid);
  }

  /** IDs of allocated devices of a resource. */
  held(resource: string): ReadonlySet<string> {
    const ids = new Set<string>();
    for (const allocation of this.#all())
      if (allocation.resource === resource) for (const id of allocation.ids) ids.add(id);
    return ids;
  }

  /** Number of allocated devices, by resource. */
  heldCounts(): ReadonlyMap<string, number> {
    const resources = new Set([...this.#all()].map(({ resource }) => resource));
    return new Map([...resources].map((resource) => [resource, this.held(resource).size]));
  }

  /** Pods with a device of the resource that passes the test. */
  holders(resource: string, test: (id: string) => boolean): string[] {
    const uids = new Set<string>();
    for (const { podUid, ids, resource: of } of this.#all())
      if (of === resource && ids.some(test)) uids.add(podUid);
    return [...uids];
  }

  /** True while an allocation from before a reboot has not been set up anew. */
  get hasRebooted(): boolean {
    for (const { restored } of this.#all()) if (restored === "reboot") return true;
    return false;
  }

  /** Entries of the checkpoint. */
  complete(): CheckpointEntry[] {
    return [...this.#all()].filter(isComplete);
  }

  *#all(): Generator<Allocation> {
    for (const containers of this.#pods.values())
      for (const resources of containers.values()) yield* resources.values();
  }
}

function isComplete(allocation: Allocation): allocation is Complete {
  return allocation.response !== undefined;
}
