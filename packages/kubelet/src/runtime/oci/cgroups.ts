import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolderSync } from "@dray/files";
import { type CgroupUsage, cgroupUsage } from "../cgroup-usage.ts";
import type { ResourceConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";

/** Mount points of cgroups: the unified hierarchy (v2), or one for each controller (v1). */
export class CgroupTree {
  readonly version: 1 | 2;
  /** Folder of each controller; for v2 the same for all. */
  readonly #mounts: ReadonlyMap<string, string>;
  /** Folders of all hierarchies in which containers have cgroups. */
  readonly #hierarchies: ReadonlySet<string>;

  private constructor(version: 1 | 2, mounts: ReadonlyMap<string, string>, unified: string | undefined) {
    this.version = version;
    this.#mounts = mounts;
    // On a hybrid machine runc makes a cgroup of each container in the unified hierarchy, too, with the
    // parents that it lacks there (opencontainers/runc, libcontainer/cgroups/utils.go, IsCgroup2HybridMode).
    this.#hierarchies = new Set([...mounts.values(), ...(unified === undefined ? [] : [unified])]);
  }

  /** Throws if no cgroups are mounted. `mountinfo` is the text of /proc/self/mountinfo. */
  static find(mountinfo = readFileSync("/proc/self/mountinfo", "utf8")): CgroupTree {
    const v1 = new Map<string, string>();
    let v2: string | undefined;
    for (const line of mountinfo.split("\n")) {
      const [before = "", after = ""] = line.split(" - ");
      const point = before.split(" ")[4] ?? "";
      const [type, , options = ""] = after.split(" ");
      if (type === "cgroup2") v2 ??= point;
      if (type === "cgroup")
        for (const controller of options.split(",")) if (!v1.has(controller)) v1.set(controller, point);
    }
    // On a hybrid machine the unified hierarchy has no controllers.
    if (v1.has("memory") || v1.has("pids") || v1.has("cpu")) return new CgroupTree(1, v1, v2);
    if (v2 === undefined)
      throw new Error(
        "no cgroup file system is mounted: containers need cgroup v2 (or v1) at /sys/fs/cgroup",
      );
    const mount = v2;
    return new CgroupTree(
      2,
      new Map(["cpu", "cpuacct", "cpuset", "io", "memory", "pids"].map((name) => [name, mount])),
      mount,
    );
  }

  get swapAccounting(): boolean {
    const memory = this.#mounts.get("memory");
    return (
      this.version === 1 && memory !== undefined && existsSync(join(memory, "memory.memsw.limit_in_bytes"))
    );
  }

  #file(controller: string, path: string, name: string): string | undefined {
    const mount = this.#mounts.get(controller);
    return mount === undefined ? undefined : join(mount, path, name);
  }

  /** File with the number of OOM kills in a cgroup. */
  oomFile(path: string): string {
    return (
      this.#file("memory", path, this.version === 2 ? "memory.events" : "memory.oom_control") ?? "/dev/null"
    );
  }

  /** Makes a cgroup with bounds for all its descendants. */
  make(path: string, resources: ResourceConfig | undefined): void {
    for (let tries = 0; ; tries++)
      try {
        if (this.version === 2) this.#makeUnified(path);
        else for (const mount of new Set(this.#mounts.values())) makeFolderSync(join(mount, path));
        break;
      } catch (error) {
        // Another agent has removed an empty parent.
        if ((error as NodeJS.ErrnoException).code !== "ENOENT" || tries > 10) throw error;
      }
    if (resources !== undefined) this.bound(path, resources);
  }

  /** Sets bounds of a cgroup. Throws RuntimeError with the file and value that the kernel refuses. */
  bound(path: string, resources: ResourceConfig): void {
    for (const [file, value] of this.#bounds(path, resources))
      try {
        writeFileSync(file, value);
      } catch (error) {
        const message = `${file} does not take ${value}: ${(error as Error).message}`;
        throw new RuntimeError("UpdatePodSandboxError", message, { cause: error });
      }
  }

  /** Controllers are delegated from folder to folder. */
  #makeUnified(path: string): void {
    // In v2 `find` sets the folder of each controller.
    let folder = this.#mounts.get("memory")!;
    for (const part of path.split("/").filter(Boolean)) {
      for (const controller of readFileSync(join(folder, "cgroup.controllers"), "utf8").trim().split(" ")) {
        if (controller === "") continue;
        try {
          writeFileSync(join(folder, "cgroup.subtree_control"), `+${controller}`);
        } catch {
          // Processes in the folder keep it from being handed down; a bound that needs it is an error below.
        }
      }
      folder = join(folder, part);
      try {
        mkdirSync(folder);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }

  #bounds(path: string, resources: ResourceConfig): (readonly [file: string, value: string])[] {
    const { cpuShares, cpuPeriod = 100_000, cpuQuota, memoryLimitBytes, pidsLimit } = resources;
    const v2 = this.version === 2;
    const result: [string, string][] = [];
    const set = (controller: string, name: string, value: string | undefined): void => {
      const file = this.#file(controller, path, name);
      if (file !== undefined && value !== undefined) result.push([file, value]);
    };
    const number = (value: number | undefined): string | undefined =>
      value === undefined ? undefined : String(value);
    if (v2) {
      // KEP-2254: from 2..262144 to 1..10000.
      const weight =
        cpuShares === undefined ? undefined : 1 + Math.floor(((Math.max(cpuShares, 2) - 2) * 9999) / 262142);
      set("cpu", "cpu.weight", number(weight));
      set(
        "cpu",
        "cpu.max",
        cpuQuota === undefined ? undefined : `${cpuQuota > 0 ? cpuQuota : "max"} ${cpuPeriod}`,
      );
      set("memory", "memory.max", memoryLimitBytes ? String(memoryLimitBytes) : undefined);
    } else {
      set("cpu", "cpu.shares", number(cpuShares));
      set("cpu", "cpu.cfs_period_us", cpuQuota === undefined ? undefined : String(cpuPeriod));
      set("cpu", "cpu.cfs_quota_us", number(cpuQuota));
      set("memory", "memory.limit_in_bytes", memoryLimitBytes ? String(memoryLimitBytes) : undefined);
    }
    set("pids", "pids.max", number(pidsLimit));
    return result;
  }

  /** Removes a cgroup and its descendants without processes. Ignores a missing one. */
  remove(path: string): void {
    for (const mount of this.#hierarchies) removeFolders(join(mount, path));
  }

  /** Removes descendants of `path` without processes, except for `kept`. */
  keep(path: string, kept: ReadonlySet<string>): void {
    for (const mount of this.#hierarchies)
      for (const name of folders(join(mount, path)))
        if (!kept.has(`${path}/${name}`)) removeFolders(join(mount, path, name));
  }

  /** Removes a cgroup without children. */
  removeEmpty(path: string): void {
    for (const mount of this.#hierarchies) removeFolder(join(mount, path));
  }

  /** Undefined if the cgroup is gone. */
  use(path: string): CgroupUsage | undefined {
    return cgroupUsage((controller, name) => {
      const file = this.#file(controller, path, name);
      try {
        return file === undefined ? undefined : readFileSync(file, "utf8");
      } catch {
        return undefined;
      }
    });
  }
}

/** Number of OOM kills, in the text of either version. */
export function oomKills(text: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** Names of the folders in a folder; none if it does not exist. */
function folders(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

function removeFolders(folder: string): void {
  for (const name of folders(folder)) removeFolders(join(folder, name));
  removeFolder(folder);
}

function removeFolder(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EBUSY" && code !== "ENOTEMPTY") throw error;
  }
}
