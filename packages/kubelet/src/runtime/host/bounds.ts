import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolderSync } from "@dray/files";
import type { ResourceConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import type { ContainerStats } from "../service.ts";
import { cgroupMount, cgroupPrefix, ownCgroup, removeCgroup } from "./cgroups.ts";
import type { ContainerRecord } from "./records.ts";

/** Controllers that bind what a container may use. */
const controllers = ["cpu", "cpuacct", "memory", "pids", "cpuset"] as const;
export type Controller = (typeof controllers)[number];

/** Where the cgroups of containers are made that bound them; both versions may be there, as on hybrid machines. */
export interface Bounds {
  readonly version: 1 | 2;
  /** The parent of the containers' cgroups, by controller; those that are missing cannot be made here. */
  readonly parents: ReadonlyMap<Controller, string>;
}

export const noBounds: Bounds = { version: 1, parents: new Map() };

/** What a container may have of processes where nothing else is said: a fork bomb ends there. */
const defaultPids = 4096;

/** Finds the controllers that can be used, by trying. */
export function detectBounds(): Bounds {
  const unified = unifiedParents();
  if (unified.size > 0) return { version: 2, parents: unified };
  const parents = new Map<Controller, string>();
  for (const controller of controllers) {
    const base = ownCgroup({ type: "cgroup", controller });
    if (base !== undefined && canMake(base, () => true)) parents.set(controller, base);
  }
  return { version: 1, parents };
}

/**
 * In the unified hierarchy a cgroup with processes hands on no controllers, unless it is the root of all: below the
 * agent's own it works where somebody has delegated them, else the root may do.
 */
function unifiedParents(): Map<Controller, string> {
  const found = new Map<Controller, string>();
  const hierarchy = { type: "cgroup2", controller: "" } as const;
  for (const base of [ownCgroup(hierarchy), cgroupMount(hierarchy)]) {
    if (base === undefined) continue;
    for (const controller of ["cpu", "memory", "pids", "cpuset"] as const)
      if (!found.has(controller) && [...found.values()].every((one) => one === base)) {
        enable(base, controller);
        const file = { cpu: "cpu.max", memory: "memory.max", pids: "pids.max", cpuset: "cpuset.cpus" }[
          controller
        ];
        if (canMake(base, (probe) => existsSync(join(probe, file)))) found.set(controller, base);
      }
    const cpu = found.get("cpu");
    // It counts the time, too.
    if (cpu !== undefined) found.set("cpuacct", cpu);
  }
  return found;
}

function enable(base: string, controller: Controller): void {
  try {
    writeFileSync(join(base, "cgroup.subtree_control"), `+${controller}`);
  } catch {
    // It may be there all the same: the probe tells.
  }
}

function canMake(base: string, check: (probe: string) => boolean): boolean {
  const probe = join(base, `${cgroupPrefix}probe-${randomUUID()}`);
  try {
    mkdirSync(probe);
    const good = check(probe);
    rmdirSync(probe);
    return good;
  } catch {
    return false;
  }
}

/** The cgroup that bounds all containers of a pod together, below the parents. */
export const podCgroup = (sandboxId: string): string => `${cgroupPrefix}${sandboxId}`;

/** The cgroup that bounds a container, below the parents. */
export const containerCgroup = (sandboxId: string, containerId: string): string =>
  join(podCgroup(sandboxId), `${cgroupPrefix}${containerId}`);

/** The cgroup of a container that was started, below the parents: older agents made it beside its pod's. */
export function cgroupOf({ id, sandboxId, bounds = [] }: ContainerRecord): string {
  const cgroup = containerCgroup(sandboxId, id);
  return bounds.some((folder) => folder.endsWith(`/${cgroup}`)) ? cgroup : `${cgroupPrefix}${id}`;
}

/** The folders of a cgroup, each once. */
export function boundsOf({ parents }: Bounds, cgroup: string): string[] {
  return [...new Set(parents.values())].map((parent) => join(parent, cgroup));
}

/**
 * Weights of a cgroup of which nothing is said. Containers never get less: those of the kubelet count among pods, below
 * a cgroup of all pods, but here containers compete with every process of the machine, and would starve (a pod without
 * requests has 2 shares).
 */
const defaultShares = 1024;
const defaultWeight = 100;

/** One file of a cgroup and what is written to it. */
export type Setting = readonly [controller: Controller, file: string, value: string];

/**
 * What is written for a configuration; what is absent in it is not touched.
 *
 * Upstream: runc's libcontainer/cgroups, fs and fs2; KEP-2254 for the weight of cpu in cgroup v2.
 */
export function settingsOf(resources: ResourceConfig, version: 1 | 2): Setting[] {
  const { cpuShares, cpuQuota, cpuPeriod = 100_000, memoryLimitBytes, pidsLimit } = resources;
  const { cpusetCpus, cpusetMems } = resources;
  const settings: Setting[] = [];
  if (version === 2) {
    if (cpuShares !== undefined) {
      const weight = 1 + Math.floor(((Math.min(Math.max(cpuShares, 2), 262_144) - 2) * 9999) / 262_142);
      settings.push(["cpu", "cpu.weight", `${Math.max(weight, defaultWeight)}`]);
    }
    if (cpuQuota !== undefined)
      settings.push(["cpu", "cpu.max", `${cpuQuota > 0 ? cpuQuota : "max"} ${cpuPeriod}`]);
    if (memoryLimitBytes !== undefined)
      settings.push(["memory", "memory.max", memoryLimitBytes > 0 ? `${memoryLimitBytes}` : "max"]);
  } else {
    if (cpuShares !== undefined)
      settings.push(["cpu", "cpu.shares", `${Math.max(cpuShares, defaultShares)}`]);
    if (cpuQuota !== undefined) {
      settings.push(["cpu", "cpu.cfs_period_us", `${cpuPeriod}`]);
      settings.push(["cpu", "cpu.cfs_quota_us", `${cpuQuota > 0 ? cpuQuota : -1}`]);
    }
    if (memoryLimitBytes !== undefined) {
      const limit = memoryLimitBytes > 0 ? `${memoryLimitBytes}` : "-1";
      settings.push(["memory", "memory.limit_in_bytes", limit]);
      // No swap, as the kubelet's default.
      settings.push(["memory", "memory.memsw.limit_in_bytes", limit]);
    }
  }
  if (version === 2 && memoryLimitBytes !== undefined)
    settings.push(["memory", "memory.swap.max", memoryLimitBytes > 0 ? "0" : "max"]);
  if (pidsLimit !== undefined) settings.push(["pids", "pids.max", pidsLimit > 0 ? `${pidsLimit}` : "max"]);
  if (cpusetCpus !== undefined && cpusetCpus !== "") settings.push(["cpuset", "cpuset.cpus", cpusetCpus]);
  if (cpusetMems !== undefined && cpusetMems !== "") settings.push(["cpuset", "cpuset.mems", cpusetMems]);
  return settings;
}

/** Which bounds of a configuration nothing here can hold, in words. */
export function unboundedOf({ parents }: Bounds, resources: ResourceConfig): string[] {
  const { cpuQuota = 0, memoryLimitBytes = 0, pidsLimit = 0, cpusetCpus = "" } = resources;
  return [
    ...(cpuQuota > 0 && !parents.has("cpu") ? ["limit of cpu"] : []),
    ...(memoryLimitBytes > 0 && !parents.has("memory") ? ["limit of memory"] : []),
    ...(pidsLimit > 0 && !parents.has("pids") ? ["limit of processes"] : []),
    ...(cpusetCpus !== "" && !parents.has("cpuset") ? [`cpuset ${cpusetCpus}`] : []),
  ];
}

/** Makes the cgroups of a pod; those that are there are left as they are. */
export function makePodBounds(bounds: Bounds, sandboxId: string): void {
  const { version, parents } = bounds;
  makeFolders(bounds, podCgroup(sandboxId));
  if (version === 2)
    for (const [controller, parent] of parents) enable(join(parent, podCgroup(sandboxId)), controller);
}

/** Makes the cgroups of a container that is to start, in those of its pod. */
export function makeBounds(bounds: Bounds, cgroup: string, resources: ResourceConfig): string[] {
  const folders = makeFolders(bounds, cgroup);
  applyBounds(bounds, cgroup, { pidsLimit: defaultPids, ...resources });
  return folders;
}

function makeFolders(bounds: Bounds, cgroup: string): string[] {
  const folders = boundsOf(bounds, cgroup);
  for (const folder of folders) makeFolderSync(folder);
  const { version, parents } = bounds;
  const cpuset = parents.get("cpuset");
  if (version === 1 && cpuset !== undefined) {
    const folder = join(cpuset, cgroup);
    // Empty in a new cgroup, which no process can enter then.
    for (const file of ["cpuset.cpus", "cpuset.mems"])
      if (readFileSync(join(folder, file), "utf8").trim() === "")
        writeFileSync(join(folder, file), readFileSync(join(dirname(folder), file)));
  }
  return folders;
}

/** Throws RuntimeError with the file and the value that the kernel refuses. */
export function applyBounds({ version, parents }: Bounds, cgroup: string, resources: ResourceConfig): void {
  let waiting = settingsOf(resources, version).filter(([controller]) => parents.has(controller));
  // The limit of memory and that with swap must never cross, and the period of cpu never its parent's share.
  for (let round = 0; waiting.length > 0; round++) {
    const refused: { readonly setting: Setting; readonly path: string; readonly error: Error }[] = [];
    for (const setting of waiting) {
      const [controller, file, value] = setting;
      const path = join(parents.get(controller)!, cgroup, file);
      if (!existsSync(path)) continue;
      try {
        writeFileSync(path, value);
      } catch (error) {
        refused.push({ setting, path, error: error as Error });
      }
    }
    const [first] = refused;
    if (first !== undefined && (round > 0 || refused.length === waiting.length))
      throw new RuntimeError(
        "RunContainerError",
        `${first.path} does not take ${first.setting[2]}: ${first.error.message}`,
        { cause: first.error },
      );
    waiting = refused.map(({ setting }) => setting);
  }
}

export function removeBounds(folders: readonly string[]): boolean {
  return folders.map(removeCgroup).every(Boolean);
}

/** How often the system has killed a process of these cgroups because they had no memory left. */
export function oomKills(folders: readonly string[]): number {
  for (const folder of folders)
    for (const file of ["memory.oom_control", "memory.events"]) {
      const count = /^oom_kill (\d+)$/m.exec(readOr(join(folder, file)))?.[1];
      if (count !== undefined) return Number(count);
    }
  return 0;
}

/** What a container uses; undefined where nothing counts it. */
export function statsOf(folders: readonly string[]): Omit<ContainerStats, "containerId" | "at"> | undefined {
  let cpu: number | undefined;
  let memory: number | undefined;
  for (const folder of folders) {
    const time = readOr(join(folder, "cpuacct.usage")).trim();
    const microseconds = /^usage_usec (\d+)$/m.exec(readOr(join(folder, "cpu.stat")))?.[1];
    if (time !== "") cpu = Number(time);
    else if (microseconds !== undefined) cpu = Number(microseconds) * 1000;
    const used = readOr(join(folder, "memory.usage_in_bytes")) || readOr(join(folder, "memory.current"));
    if (used !== "") {
      const stat = readOr(join(folder, "memory.stat"));
      const inactive = /^(?:total_inactive_file|inactive_file) (\d+)$/gm;
      // Of cgroup v1 the total comes last, of v2 there is one line.
      const reclaimable = Number([...stat.matchAll(inactive)].at(-1)?.[1] ?? 0);
      memory = Math.max(0, Number(used) - reclaimable);
    }
  }
  if (cpu === undefined || memory === undefined) return undefined;
  return { cpuNanoseconds: cpu, memoryWorkingSetBytes: memory };
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
