import { statSync } from "node:fs";
import type { ContainerEdits } from "@dray/cdi";
import type { ContainerConfig } from "../config.ts";

/** A device node of a container, from a device plugin or CDI. */
export interface ContainerDevice {
  /** Path on the machine. */
  readonly hostPath: string;
  readonly containerPath: string;
  /** False if the machine lacks it. */
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

/** Access that a container needs to use its files and devices. */
export interface Access {
  /** Some of them are accessible to root only. */
  readonly needsRoot: boolean;
  /** Groups with access to its devices. */
  readonly groups: readonly number[];
}

/**
 * Volumes outside of `podsDirectory` are files of the machine (hostPath, local volumes), which belong to
 * root: a container that mounts them runs as root unless it names a user. So does one with a device that only
 * root may use.
 */
export function neededAccess(
  config: ContainerConfig,
  devices: readonly ContainerDevice[],
  podsDirectory: string,
): Access {
  const groups = new Set<number>();
  let needsRoot = config.mounts.some(
    ({ hostPath, volumePath = hostPath }) => !volumePath.startsWith(`${podsDirectory}/`),
  );
  for (const { hostPath, exists } of devices) {
    if (!exists) continue;
    const { mode, gid } = statSync(hostPath);
    if ((mode & 0o006) === 0o006) continue;
    if ((mode & 0o060) === 0o060 && gid !== 0) groups.add(gid);
    else needsRoot = true;
  }
  return { needsRoot, groups: [...groups] };
}
