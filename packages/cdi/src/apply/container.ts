import type { ContainerEdits, DeviceNode, Hook, Mount } from "../spec/spec.ts";
import { applyEnv, applyMounts } from "./edits.ts";

/** A container for runtimes that know no OCI: what of it a host process can have. */
export interface ContainerDescription {
  /** `NAME=value` */
  readonly env: readonly string[];
  readonly mounts: readonly Mount[];
  readonly deviceNodes: readonly DeviceNode[];
  readonly hooks: readonly Hook[];
}

/**
 * `container` with the edits applied by the same rules as an OCI configuration; `container` is left as it is.
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
