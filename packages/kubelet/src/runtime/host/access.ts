import { statSync } from "node:fs";
import type { ContainerEdits } from "@dray/cdi";
import type { ContainerConfig } from "../config.ts";

/** A device node that a container gets, of a device plugin or of CDI. */
export interface ContainerDevice {
  /** On the machine. */
  readonly hostPath: string;
  readonly containerPath: string;
  /** False where the machine lacks it. */
  readonly exists: boolean;
}

export function containerDevices({ devices }: ContainerConfig, edits: ContainerEdits): ContainerDevice[] {
  return [
    ...devices.map(({ hostPath, containerPath }) => ({ hostPath, containerPath })),
    ...(edits.deviceNodes ?? []).map(({ path, hostPath }) => ({
      hostPath: hostPath || path,
      containerPath: path,
    })),
  ].map((device) => ({
    ...device,
    exists: statSync(device.hostPath, { throwIfNoEntry: false }) !== undefined,
  }));
}

/** What a container must be to use what it is given. */
export interface Access {
  /** Something of it is for root alone. */
  readonly needsRoot: boolean;
  /** Groups that may use its devices. */
  readonly groups: readonly number[];
}

/**
 * Volumes outside of `podsDirectory` are files of the machine (hostPath, local volumes), which belong to root: a
 * container that mounts them runs as root unless it names a user. So does one with a device of root's own.
 */
export function neededAccess(
  config: ContainerConfig,
  devices: readonly ContainerDevice[],
  podsDirectory: string,
): Access {
  const groups = new Set<number>();
  let needsRoot = config.mounts.some(({ hostPath }) => !hostPath.startsWith(`${podsDirectory}/`));
  for (const { hostPath, exists } of devices) {
    if (!exists) continue;
    const { mode, gid } = statSync(hostPath);
    if ((mode & 0o006) === 0o006) continue;
    if ((mode & 0o060) === 0o060 && gid !== 0) groups.add(gid);
    else needsRoot = true;
  }
  return { needsRoot, groups: [...groups] };
}
