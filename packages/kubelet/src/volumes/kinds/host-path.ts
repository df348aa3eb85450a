import { chmodSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { HostPathVolumeSource } from "@dray/api/core/v1";
import { makeFolderSync } from "@dray/files";
import type { NodePaths } from "../../base/paths.ts";
import type { VolumePlugin } from "../plugin.ts";

export const hostPath: VolumePlugin<"hostPath"> = {
  field: "hostPath",
  name: "host-path",
  setUp: async ({ source }, { paths }) => ({ path: hostPathOnMachine(source, paths), readOnly: false }),
};

const typeNames: Readonly<Record<string, string>> = {
  Directory: "a directory",
  DirectoryOrCreate: "a directory",
  File: "a file",
  FileOrCreate: "a file",
  Socket: "a socket file",
  CharDevice: "a character device",
  BlockDevice: "a block device",
};

/**
 * Returns the path of a host path on the machine, created if its type requires it and it is the node's own; a
 * folder gets `mode` then. Throws an Error if it has another type.
 *
 * Upstream: pkg/volume/hostpath/host_path.go, checkTypeInternal.
 */
export function hostPathOnMachine(
  { path, type = "" }: HostPathVolumeSource,
  paths: NodePaths,
  mode = 0o755,
): string {
  const place = paths.onMachine(path);
  const own = paths.contains(place);
  const stat = statSync(place, { throwIfNoEntry: false });
  if (stat === undefined) {
    // Nothing is created on the machine outside the node's root, to which `onMachine` maps missing paths.
    if (!own || !["", "DirectoryOrCreate", "FileOrCreate"].includes(type))
      throw new Error(`hostPath type check failed: ${path} is not ${typeNames[type] ?? "there"}`);
    if (type === "FileOrCreate") {
      makeFolderSync(dirname(place), 0o755);
      writeFileSync(place, "", { mode: 0o644 });
    } else {
      makeFolderSync(place, 0o755);
      // The umask must not apply.
      chmodSync(place, mode);
    }
    return place;
  }
  const fits: Readonly<Record<string, boolean>> = {
    "": true,
    DirectoryOrCreate: stat.isDirectory(),
    Directory: stat.isDirectory(),
    FileOrCreate: stat.isFile(),
    File: stat.isFile(),
    Socket: stat.isSocket(),
    CharDevice: stat.isCharacterDevice(),
    BlockDevice: stat.isBlockDevice(),
  };
  if (fits[type] !== true)
    throw new Error(`hostPath type check failed: ${path} is not ${typeNames[type] ?? `a ${type}`}`);
  return place;
}
