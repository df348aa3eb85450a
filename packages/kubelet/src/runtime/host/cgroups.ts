import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeFolderSync } from "@dray/files";
import { processStat } from "./processes.ts";

/**
 * Cgroups that contain all processes of each container: unlike a session, a parent or a variable, a process
 * cannot leave its cgroup. `bounds.ts` has those that limit resources.
 */
export interface Cgroups {
  /** Folder of the cgroup of a container, whether or not it exists. */
  path(containerId: string): string;
}

/** Prefix of the names of our cgroups. */
export const cgroupPrefix = "dray-";

/** A hierarchy of cgroups: the unified one (v2), or that of a controller (v1). */
export interface Hierarchy {
  readonly type: "cgroup2" | "cgroup";
  /** A controller; empty for the unified hierarchy, which has no name in /proc/PID/cgroup. */
  readonly controller: "" | "cpu" | "cpuacct" | "memory" | "pids" | "cpuset";
}

export const hierarchies: readonly Hierarchy[] = [
  { type: "cgroup2", controller: "" },
  { type: "cgroup", controller: "pids" },
];

/**
 * Detects a hierarchy in which cgroups can be made and entered below the agent's own, by trying. On a hybrid
 * machine the unified hierarchy has no controllers, and works as well.
 */
export async function detectCgroups(
  newId: () => string,
  candidates = hierarchies,
): Promise<Cgroups | { readonly reason: string }> {
  const reasons: string[] = [];
  for (const hierarchy of candidates) {
    const base = ownCgroup(hierarchy);
    if (base === undefined) continue;
    const probe = join(base, `${cgroupPrefix}probe-${newId()}`);
    try {
      mkdirSync(probe);
      await promisify(execFile)("/bin/sh", ["-c", 'echo $$ >"$1"', "probe", cgroupProcesses(probe)]);
      return { path: (containerId) => join(base, `${cgroupPrefix}${containerId}`) };
    } catch (error) {
      reasons.push(`no cgroup can be made in ${base}: ${(error as Error).message.trim()}`);
    } finally {
      removeCgroup(probe);
    }
  }
  return { reason: reasons.join("; ") || "no cgroup file system is mounted" };
}

/** Folder of the agent's own cgroup (proc(5): /proc/PID/cgroup and /proc/PID/mountinfo). */
export function ownCgroup({ type, controller }: Hierarchy): string | undefined {
  const path = lines("/proc/self/cgroup")
    .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
    .find((match) => match?.[1]?.split(",").includes(controller))?.[2];
  const mount = mountOf({ type, controller });
  if (path === undefined || mount === undefined) return undefined;
  const { root, point } = mount;
  return join(point, root !== "/" && path.startsWith(root) ? path.slice(root.length) : path);
}

/** Mount point of a hierarchy. */
export function cgroupMount(hierarchy: Hierarchy): string | undefined {
  return mountOf(hierarchy)?.point;
}

function mountOf({ type, controller }: Hierarchy) {
  return lines("/proc/self/mountinfo")
    .map((line) => {
      const [before = "", after = ""] = line.split(" - ");
      const [, , , root = "/", point = ""] = before.split(" ");
      const [mounted, , options = ""] = after.split(" ");
      return { root, point, mounted, options: options.split(",") };
    })
    .find(({ mounted, options }) => mounted === type && (controller === "" || options.includes(controller)));
}

/** File to which a process is written to enter the cgroup. */
export function cgroupProcesses(cgroup: string): string {
  return join(cgroup, "cgroup.procs");
}

export function makeCgroup(cgroup: string): void {
  makeFolderSync(cgroup);
}

/** All processes in the cgroup and its descendants, except zombies. */
export function cgroupMembers(cgroup: string): number[] {
  return [cgroup, ...below(cgroup)]
    .flatMap((path) => lines(cgroupProcesses(path)))
    .map(Number)
    .filter(isRunning);
}

/**
 * Runs `act` while the processes of a cgroup cannot fork, so that killing them ends. The unified hierarchy
 * freezes them (SIGKILL acts on frozen processes too), the controller pids refuses new ones.
 */
export function withoutForks(cgroup: string, act: () => void): void {
  const freezer = join(cgroup, "cgroup.freeze");
  const limit = join(cgroup, "pids.max");
  if (existsSync(limit)) writeFileSync(limit, "0");
  if (existsSync(freezer)) writeFileSync(freezer, "1");
  try {
    act();
  } finally {
    if (existsSync(freezer)) writeFileSync(freezer, "0");
  }
}

/** Removes a cgroup without processes. Returns false if it has some. */
export function removeCgroup(cgroup: string): boolean {
  for (const path of [...below(cgroup).reverse(), cgroup])
    try {
      rmdirSync(path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "EBUSY") throw error;
    }
  return !existsSync(cgroup);
}

/** Descendants of a cgroup, parents first. */
function below(cgroup: string): string[] {
  let names: string[];
  try {
    names = readdirSync(cgroup, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return names.flatMap((name) => [join(cgroup, name), ...below(join(cgroup, name))]);
}

function lines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENODEV") return [];
    throw error;
  }
}

function isRunning(pid: number): boolean {
  const state = processStat(pid)?.state;
  return state !== undefined && state !== "Z" && state !== "X";
}
