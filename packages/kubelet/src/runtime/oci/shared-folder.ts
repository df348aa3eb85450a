import { readdirSync, rmdirSync } from "node:fs";
import { makeFolderSync } from "@dray/files";
import { isMountPoint } from "../../base/mounts.ts";
import { unmountAll } from "./images/snapshots.ts";
import { runTool } from "./tools.ts";

/**
 * Makes a folder whose mounts, also later ones, appear in containers that mount it with the propagation
 * HostToContainer: a bind mount of itself that is shared, as `ip netns` makes /run/netns.
 */
export async function shareFolder(path: string): Promise<void> {
  makeFolderSync(path, 0o755);
  if (!isMountPoint(path)) await runTool("mount", ["--bind", path, path]);
  await runTool("mount", ["--make-shared", path]);
}

/** Removes a shared folder, unless something is in it. */
export async function unshareFolder(path: string): Promise<void> {
  try {
    if (readdirSync(path).length > 0) return;
    await unmountAll(path);
    rmdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
