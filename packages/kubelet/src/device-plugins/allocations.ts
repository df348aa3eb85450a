import type { ContainerAllocateResponse } from "@dray/rpc/deviceplugin/v1beta1";
import type { CheckpointEntry } from "./checkpoint.ts";

/** The devices of one resource that a container holds. */
export interface Allocation {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
  /** By device, as it was when the devices were allocated; absent for one without NUMA nodes. */
  readonly numaNodes: ReadonlyMap<string, readonly number[]>;
  /** Undefined while the plugin is asked: until then the devices are held, and nothing else is known. */
  response: ContainerAllocateResponse | undefined;
  /**
   * Set for an allocation of an earlier agent until its plugin has reported the devices again. After a reboot the
   * plugin has to set them up anew.
   */
  restored: "restart" | "reboot" | undefined;
}

/** An allocation that the plugin has answered. */
export type Complete = Allocation & { readonly response: ContainerAllocateResponse };

/** Which container of which pod holds which devices. */
export class Allocations {
  /** By pod, container and resource. */
  readonly #pods = new Map<string, Map<string, Map<string, Allocation>>>();

  get podUids(): ReadonlySet<string> {
    return new Set(this.#pods.keys());
  }

  get(podUid: string, container: string, resource: string): Allocation | undefined {
    return this.#pods.get(podUid)?.get(container)?.get(resource);
  }

  /** Of a container, by the name of the resource. */
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

  /** Removes that allocation; one that has taken its place stays. */
  delete(allocation: Allocation): void {
    const { podUid, container, resource } = allocation;
    if (this.get(podUid, container, resource) !== allocation) return;
    const containers = this.#pods.get(podUid);
    const resources = containers?.get(container);
    resources?.delete(resource);
    if (resources?.size === 0) containers?.delete(container);
    if (containers?.size === 0) this.#pods.delete(podUid);
  }

  /** True if the pod held anything. */
  deletePod(podUid: string): boolean {
    return this.#pods.delete(podUid);
  }

  /** Devices of a resource that somebody holds. */
  held(resource: string): ReadonlySet<string> {
    const ids = new Set<string>();
    for (const allocation of this.#all())
      if (allocation.resource === resource) for (const id of allocation.ids) ids.add(id);
    return ids;
  }

  /** Resources of which somebody holds devices, with the number of these. */
  heldCounts(): ReadonlyMap<string, number> {
    const resources = new Set([...this.#all()].map(({ resource }) => resource));
    return new Map([...resources].map((resource) => [resource, this.held(resource).size]));
  }

  /** Pods that hold devices of a resource for which the test holds. */
  holders(resource: string, test: (id: string) => boolean): string[] {
    const uids = new Set<string>();
    for (const { podUid, ids, resource: of } of this.#all())
      if (of === resource && ids.some(test)) uids.add(podUid);
    return [...uids];
  }

  /** True while there are allocations of before a reboot that the plugin has not set up anew. */
  get hasRebooted(): boolean {
    for (const { restored } of this.#all()) if (restored === "reboot") return true;
    return false;
  }

  /** What goes into the checkpoint. */
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
