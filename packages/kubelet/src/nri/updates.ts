import {
  type ContainerUpdate,
  type LinuxResources,
  LinuxResources as ResourcesMessage,
} from "@dray/rpc/nri/v1alpha1";
import { NriConflict, type Owners } from "./owners.ts";
import { copyResources, mergeResources } from "./resources.ts";

/**
 * Updates of existing containers that plugins want in one request: one for each container.
 *
 * Upstream: containerd/nri, pkg/adaptation/result.go, updateResources.
 */
export class Updates {
  readonly #owners: Owners;
  readonly #updates = new Map<string, { resources: LinuxResources; ignoreFailure: boolean }>();

  constructor(owners: Owners) {
    this.#owners = owners;
  }

  /** Sets the resources that are wanted of a container already. */
  begin(id: string, resources: LinuxResources | undefined): void {
    this.#updates.set(id, { resources: copyResources(resources), ignoreFailure: false });
  }

  /** Throws NriConflict, unless the plugin allows its update to be ignored. */
  apply({ containerId: id, linux, ignoreFailure }: ContainerUpdate, plugin: string): void {
    const before = this.#updates.get(id);
    const resources = copyResources(before?.resources);
    const owned = this.#owners.copy(id);
    try {
      const wanted = ResourcesMessage.fromPartial(linux?.resources ?? {});
      mergeResources(wanted, [resources], (field, key = "") => this.#owners.claim(id, field, key, plugin));
    } catch (error) {
      if (!(error instanceof NriConflict) || !ignoreFailure) throw error;
      this.#owners.restore(id, owned);
      return;
    }
    this.#updates.set(id, { resources, ignoreFailure: (before?.ignoreFailure ?? true) && ignoreFailure });
  }

  /** Resources that are wanted of one container. */
  of(id: string): LinuxResources | undefined {
    return this.#updates.get(id)?.resources;
  }

  /** Updates of all other containers, in the order in which they were first requested. */
  others(id?: string): ContainerUpdate[] {
    return [...this.#updates]
      .filter(([containerId]) => containerId !== id)
      .map(([containerId, { resources, ignoreFailure }]) => ({
        containerId,
        linux: { resources },
        ignoreFailure,
      }));
  }
}
