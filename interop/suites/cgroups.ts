/** Cgroups of the nodes. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The cgroup of all nodes. */
export const group = "dray-interop";

/**
 * Makes the cgroup that kubelet keeps its pods below, in every hierarchy that there is. Returns what removes
 * it.
 */
export function makeCgroups(name: string): () => void {
  const root = "/sys/fs/cgroup";
  const unified = existsSync(join(root, "cgroup.controllers"));
  const hierarchies = unified
    ? [root]
    : readdirSync(root)
        .map((part) => join(root, part))
        .filter((path) => existsSync(join(path, "cgroup.procs")));
  for (const hierarchy of hierarchies) {
    const path = join(hierarchy, group, name);
    mkdirSync(path, { recursive: true });
    if (unified)
      for (const parent of [hierarchy, join(hierarchy, group), path]) {
        const controllers = readFileSync(join(parent, "cgroup.controllers"), "utf8").trim().split(" ");
        for (const controller of controllers)
          try {
            writeFileSync(join(parent, "cgroup.subtree_control"), `+${controller}`);
          } catch {
            // A controller may be in use elsewhere; kubelet names those that it misses.
          }
      }
    else if (existsSync(join(path, "cpuset.cpus")))
      for (const child of [join(hierarchy, group), path]) // A new cpuset is empty.
        for (const file of ["cpuset.mems", "cpuset.cpus"])
          writeFileSync(join(child, file), readFileSync(join(hierarchy, file)));
  }
  const remove = (): void => {
    process.off("exit", remove);
    for (const hierarchy of hierarchies) {
      const path = join(hierarchy, group, name);
      // Processes that were killed a moment ago are still in it.
      for (let tries = 0; tries < 60 && existsSync(path); tries++) {
        if (tries > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
        removeCgroupTree(path);
      }
      removeIfEmpty(join(hierarchy, group));
    }
  };
  process.once("exit", remove);
  return remove;
}

export function removeCgroupTree(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroupTree(join(path, entry.name));
  removeIfEmpty(path);
}

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Another node's, or processes of it end only now.
  }
}
