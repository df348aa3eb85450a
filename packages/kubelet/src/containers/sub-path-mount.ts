import { lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolderSync } from "@dray/files";
import { canMount, isEntryAt, isMountPoint, mountEntry, unmount } from "../base/mounts.ts";
import type { OpenEntry } from "../base/open-entry.ts";
import type { MountConfig } from "../runtime/config.ts";
import { openSubPath } from "./sub-path.ts";

/** Source of a mount. */
export type MountSource = Pick<MountConfig, "hostPath" | "identity" | "volumePath">;

export interface SubPathMount {
  /** Path of the volume on the machine. */
  readonly volume: string;
  readonly subPath: string;
  /** Missing folders are made. */
  readonly create: boolean;
  /** Path in the pod's folder that no container can exchange; unmounted with the pod. */
  readonly target: string;
  /** The runtime refuses mounts of another identity. */
  readonly checksMounts: boolean;
}

/**
 * Mounts what a `subPath` names into the pod's folder, where the runtime looks it up: in the volume
 * containers could exchange it meanwhile. An agent that cannot mount returns its identity, which the runtime
 * checks. Throws an Error.
 *
 * Upstream: pkg/volume/util/subpath/subpath_linux.go, doBindSubPath and prepareSubpathTarget.
 */
export function mountSubPath({ volume, subPath, create, target, checksMounts }: SubPathMount): MountSource {
  const entry = openSubPath(volume, subPath, create);
  try {
    if (canMount() || !checksMounts)
      try {
        bind(entry, target);
        return { hostPath: target, volumePath: volume };
      } catch (error) {
        if (!checksMounts) throw error;
      }
    return { hostPath: entry.currentPath, identity: entry.identity };
  } finally {
    entry.close();
  }
}

/** Leaves a mount of an earlier container that is the same. */
function bind(entry: OpenEntry, target: string): void {
  if (isMountPoint(target)) {
    if (isEntryAt(entry, target)) return;
    unmount(target);
  }
  makeFolderSync(dirname(target), 0o750);
  makeTarget(target, entry.stat.isDirectory());
  mountEntry(entry, target);
}

/** Makes a folder, or a file for everything else. */
function makeTarget(target: string, isFolder: boolean): void {
  const there = lstatSync(target, { throwIfNoEntry: false });
  if (there !== undefined && there.isDirectory() === isFolder) return;
  rmSync(target, { recursive: true, force: true });
  if (isFolder) mkdirSync(target, { mode: 0o750 });
  else writeFileSync(target, "", { mode: 0o640 });
}
