import { chmodSync, existsSync } from "node:fs";
import { Quantity } from "@dray/api";
import type { EmptyDirVolumeSource, Pod } from "@dray/api/core/v1";
import { podLimits } from "@dray/api/pod";
import { makeFolderSync } from "@dray/files";
import { isMountPoint, mountTmpfs } from "../../base/mounts.ts";
import type { VolumeHost, VolumePlugin } from "../plugin.ts";

export const emptyDir: VolumePlugin<"emptyDir"> = {
  field: "emptyDir",
  name: "empty-dir",
  async setUp({ pod, name, source, folder }, host) {
    const { made, warning } = makeEmptyDir(folder, source, maxMemory(pod, host));
    return {
      path: folder,
      readOnly: false,
      ...(made && { fsGroupPolicy: "Always" }),
      ...(warning !== undefined && {
        warnings: [{ reason: "EmptyDirOnDisk", message: `volume "${name}": ${warning}` }],
      }),
    };
  },
};

interface MadeEmptyDir {
  /** It did not exist before. */
  readonly made: boolean;
  /** Names a request of the pod that is not met. */
  readonly warning?: string;
}

/**
 * Makes an empty directory, or mounts a lost one in memory. One in memory has its `sizeLimit`, at most
 * `maxMemory` bytes; if nothing can be mounted it is on disk. Throws an Error for an unsupported medium.
 *
 * Upstream: pkg/volume/emptydir/empty_dir.go, SetUpAt, calculateEmptyDirMemorySize.
 */
function makeEmptyDir(
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
  // The default mode is that of tmpfs, with the sticky bit, as upstream leaves it.
  if (mode !== undefined) chmodSync(path, mode);
  return { made: true };
}

/** Maximum size of an empty directory in memory: the limit of the pod, or the node's allocatable. */
function maxMemory(pod: Pod, { node }: Pick<VolumeHost, "node">): bigint {
  const allocatable = Quantity.parse(node().status?.allocatable?.["memory"] ?? "0").value();
  const limit = podLimits(pod).get("memory")?.value() ?? 0n;
  return limit > 0n && limit < allocatable ? limit : allocatable;
}
