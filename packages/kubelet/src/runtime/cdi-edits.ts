import { existsSync } from "node:fs";
import type { CdiRegistry, ContainerEdits } from "@dray/cdi";
import { RuntimeError } from "./error.ts";

/** Types of mounts whose source is a path. */
const bindTypes: readonly (string | undefined)[] = [undefined, "", "none", "bind"];

/** Devices of the node, and its paths. */
export interface CdiSource {
  readonly cdi: CdiRegistry;
  /** Maps a path that the node's drivers name to one of this machine. */
  hostPath(path: string): string;
}

/** Returns the edits of CDI devices, with paths of this machine. Rejects with RuntimeError. */
export async function cdiEdits(source: CdiSource, names: readonly string[]): Promise<ContainerEdits> {
  if (names.length === 0) return {};
  try {
    return cdiPathsOnMachine(await source.cdi.resolve(names), (path) => source.hostPath(path));
  } catch (error) {
    const message = `failed to inject CDI devices: ${(error as Error).message}`;
    throw new RuntimeError("CreateContainerError", message, { cause: error });
  }
}

/**
 * Maps every path of CDI edits that is looked up outside of the container to one of this machine: drivers
 * name files of their node, such as a hook in their own folder below /var/lib/kubelet/plugins. `onMachine`
 * maps one path. One that is nowhere stays as the driver names it, for the error.
 *
 * Upstream: CDI specification, `mounts[].hostPath`, `deviceNodes[].hostPath`, `hooks[].path`; the other
 * fields have no paths of the host.
 */
export function cdiPathsOnMachine<E extends ContainerEdits>(
  edits: E,
  onMachine: (path: string) => string,
): E {
  const existing = (path: string): string => {
    const mapped = onMachine(path);
    return existsSync(mapped) ? mapped : path;
  };
  return {
    ...edits,
    ...(edits.mounts && {
      mounts: edits.mounts.map((mount) =>
        bindTypes.includes(mount.type) ? { ...mount, hostPath: onMachine(mount.hostPath) } : mount,
      ),
    }),
    ...(edits.deviceNodes && {
      deviceNodes: edits.deviceNodes.map((node) => ({
        ...node,
        hostPath: existing(node.hostPath || node.path),
      })),
    }),
    ...(edits.hooks && { hooks: edits.hooks.map((hook) => ({ ...hook, path: existing(hook.path) })) }),
  };
}
