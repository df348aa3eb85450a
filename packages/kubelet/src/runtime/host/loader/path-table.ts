import { dirname, join } from "node:path";
import type { MountConfig } from "../../config.ts";

/** Paths of the machine. */
export interface MachinePaths {
  exists(path: string): boolean;
  /** The path without symbolic links; undefined if it does not exist. */
  real(path: string): string | undefined;
}

/** Paths of a container without a mount name space. */
export interface PathTable {
  /** Paths of the machine that stand for paths of the container, the longest of these first. */
  readonly entries: readonly (readonly [path: string, onMachine: string])[];
  /** Symbolic links to mounts, in folders that the machine lacks. */
  readonly links: readonly (readonly [path: string, target: string])[];
}

/**
 * Plans where the loader library finds the mounts of a container. A folder on the way to a mount that the
 * machine lacks is made below `skeleton`, with a link to the mount in it, so that programs can list and enter
 * it. Where a part of the way is a symbolic link, as /var/run, the path behind it leads to the mount, too.
 */
export function planPaths(
  mounts: readonly MountConfig[],
  skeleton: string,
  machine: MachinePaths,
): PathTable {
  const entries = new Map<string, string>();
  const links: [string, string][] = [];
  const add = (path: string, onMachine: string): void => {
    entries.set(path, onMachine);
    const missing = firstMissing(path, machine);
    const behind = join(machine.real(dirname(missing)) ?? "/", path.slice(dirname(missing).length));
    if (behind !== path && !entries.has(behind)) add(behind, onMachine);
    if (missing === path || isCovered(path, mounts)) return;
    entries.set(missing, join(skeleton, missing));
    links.push([join(skeleton, path), onMachine]);
  };
  for (const { containerPath, hostPath } of mounts) add(containerPath.replace(/(?<=.)\/+$/, ""), hostPath);
  return { entries: [...entries].sort(([a], [b]) => b.length - a.length), links };
}

/** The first part of a path that the machine lacks; the path itself if only that, or nothing, is missing. */
function firstMissing(path: string, { exists }: MachinePaths): string {
  let missing = path;
  for (let folder = dirname(path); folder !== "/" && !exists(folder); folder = dirname(folder))
    missing = folder;
  return missing;
}

/** The mount lies in another one, whose own folders are used. */
function isCovered(path: string, mounts: readonly MountConfig[]): boolean {
  return mounts.some(({ containerPath }) => path.startsWith(`${containerPath}/`));
}

/** The table as the library reads it: `from=to:from=to`, percent-encoded. */
export function tableText({ entries }: PathTable): string {
  return entries.map((pair) => pair.map(encoded).join("=")).join(":");
}

function encoded(path: string): string {
  return path.replace(/[%=:\s]/g, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
