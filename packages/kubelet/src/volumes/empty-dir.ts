import { chmodSync, existsSync } from "node:fs";
import { Quantity } from "@dray/api";
import type { EmptyDirVolumeSource } from "@dray/api/core/v1";
import { makeFolderSync } from "@dray/files";
import { isMountPoint, mountTmpfs } from "../base/unmount.ts";

export interface MadeEmptyDir {
  /** It was not there before. */
  readonly made: boolean;
  /** What is not as the pod wants it. */
  readonly warning?: string;
}

/**
 * Makes an empty directory, or mounts one in memory that was lost. One in memory holds what its `sizeLimit` says, at most
 * `maxMemory` bytes; where nothing can be mounted it lies on disk. Throws an Error for a medium that the node lacks.
 *
 * Upstream: pkg/volume/emptydir/empty_dir.go, SetUpAt, calculateEmptyDirMemorySize.
 */
export function makeEmptyDir(
  path: string,
  { medium = "", sizeLimit, mode }: EmptyDirVolumeSource,
  maxMemory: bigint,
): MadeEmptyDir {
  if (medium !== "" && medium !== "Memory")
    throw new Error(
      `medium ${JSON.stringify(medium)} is not supported on this node; supported are "" and "Memory"`,
    );
  const there = existsSync(path);
  if (!there) {
    makeFolderSync(path);
    chmodSync(path, mode ?? 0o777);
  }
  if (medium === "" || isMountPoint(path)) return { made: !there };
  const limit = sizeLimit === undefined ? 0n : Quantity.parse(sizeLimit).value();
  const size = limit > 0n && (maxMemory === 0n || limit < maxMemory) ? limit : maxMemory;
  try {
    mountTmpfs(path, size);
  } catch (error) {
    return { made: !there, warning: `medium Memory is on disk: ${(error as Error).message}` };
  }
  // Without a mode it has that of every tmpfs, with the sticky bit, as upstream leaves it.
  if (mode !== undefined) chmodSync(path, mode);
  return { made: true };
}
