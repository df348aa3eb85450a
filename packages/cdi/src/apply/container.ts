import type { ContainerEdits, DeviceNode, Hook, Mount } from "../spec/spec.ts";
import { applyEnv, applyMounts } from "./edits.ts";

/** The parts of a container that a host process can have, for runtimes without OCI. */
export interface ContainerDescription {
  /** `NAME=value` */
  readonly env: readonly string[];
  readonly mounts: readonly Mount[];
  readonly deviceNodes: readonly DeviceNode[];
  readonly hooks: readonly Hook[];
}

/**
 * Returns the container with the edits applied, by the rules for an OCI configuration. `container` is
 * unchanged.
 */
export function applyToContainer<C extends ContainerDescription>(container: C, edits: ContainerEdits): C {
  const nodes = edits.deviceNodes ?? [];
  return {
    ...container,
    env: applyEnv(container.env, edits.env ?? []),
    mounts: applyMounts(
      container.mounts,
      edits.mounts ?? [],
      (mount) => mount.containerPath,
      (mount) => mount,
    ),
    deviceNodes: nodes.reduce<readonly DeviceNode[]>(
      (all, node) => [...all.filter(({ path }) => path !== node.path), node],
      container.deviceNodes,
    ),
    hooks: [...container.hooks, ...(edits.hooks ?? [])],
  };
}
