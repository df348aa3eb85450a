import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolderSync } from "@dray/files";
import { type CgroupUsage, cgroupUsage } from "../cgroup-usage.ts";
import type { ResourceConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import { cgroupMount, cgroupPrefix, ownCgroup, removeCgroup } from "./cgroups.ts";
import type { ContainerRecord } from "./records.ts";

/** Controllers that limit resources. */
const controllers = ["cpu", "cpuacct", "memory", "pids", "cpuset"] as const;
export type Controller = (typeof controllers)[number];

/** Parents of the cgroups that limit containers; hybrid machines have both versions. */
export interface Bounds {
  readonly version: 1 | 2;
  /** Parent of the containers' cgroups by controller; a missing controller cannot be used here. */
  readonly parents: ReadonlyMap<Controller, string>;
}

export const noBounds: Bounds = { version: 1, parents: new Map() };

/** Default limit of processes of a container, which stops a fork bomb. */
const defaultPids = 4096;

/** Detects usable controllers by trying. */
export function detectBounds(newId: () => string): Bounds {
  const unified = unifiedParents(newId);
  if (unified.size > 0) return { version: 2, parents: unified };
  const parents = new Map<Controller, string>();
  for (const controller of controllers) {
    const base = ownCgroup({ type: "cgroup", controller });
    if (base !== undefined && canMake(base, newId, () => true)) parents.set(controller, base);
  }
  return { version: 1, parents };
}

/**
 * In the unified hierarchy a cgroup with processes delegates no controllers, unless it is the root: a child
 * of the agent's own works if it was delegated, else one of the root may.
 */
function unifiedParents(newId: () => string): Map<Controller, string> {
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
        if (canMake(base, newId, (probe) => existsSync(join(probe, file)))) found.set(controller, base);
      }
    const cpu = found.get("cpu");
    // It counts time too.
    if (cpu !== undefined) found.set("cpuacct", cpu);
  }
  return found;
}

function enable(base: string, controller: Controller): void {
  try {
    writeFileSync(join(base, "cgroup.subtree_control"), `+${controller}`);
  } catch {
    // It may exist already: the probe shows it.
  }
}

function canMake(base: string, newId: () => string, check: (probe: string) => boolean): boolean {
  const probe = join(base, `${cgroupPrefix}probe-${newId()}`);
  try {
    mkdirSync(probe);
    const good = check(probe);
    rmdirSync(probe);
    return good;
  } catch {
    return false;
  }
}

/** Cgroup that limits all containers of a pod together, below the parents. */
export const podCgroup = (sandboxId: string): string => `${cgroupPrefix}${sandboxId}`;

/** Cgroup that limits a container, below the parents. */
export const containerCgroup = (sandboxId: string, containerId: string): string =>
  join(podCgroup(sandboxId), `${cgroupPrefix}${containerId}`);

/** Cgroup of a started container, below the parents: older agents made it beside its pod's. */
export function cgroupOf({ id, sandboxId, bounds = [] }: ContainerRecord): string {
  const cgroup = containerCgroup(sandboxId, id);
  return bounds.some((folder) => folder.endsWith(`/${cgroup}`)) ? cgroup : `${cgroupPrefix}${id}`;
}

/** Folders of a cgroup, without duplicates. */
export function boundsOf({ parents }: Bounds, cgroup: string): string[] {
  return [...new Set(parents.values())].map((parent) => join(parent, cgroup));
}

/**
 * Default weight, which is the minimum too: containers of upstream's kubelet share a cgroup of all pods, but
 * here they compete with every process of the machine, and a pod without requests, with 2 shares, would
 * starve.
 */
const defaultShares = 1024;
const defaultWeight = 100;

/** A file of a cgroup and its value. */
export type Setting = readonly [controller: Controller, file: string, value: string];

/**
 * Returns the settings of a configuration; absent fields are not changed.
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
      // Without swap, as upstream's default.
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

/** Names the bounds of a configuration that no controller here supports. */
export function unboundedOf({ parents }: Bounds, resources: ResourceConfig): string[] {
  const { cpuQuota = 0, memoryLimitBytes = 0, pidsLimit = 0, cpusetCpus = "" } = resources;
  return [
    ...(cpuQuota > 0 && !parents.has("cpu") ? ["limit of cpu"] : []),
    ...(memoryLimitBytes > 0 && !parents.has("memory") ? ["limit of memory"] : []),
    ...(pidsLimit > 0 && !parents.has("pids") ? ["limit of processes"] : []),
    ...(cpusetCpus !== "" && !parents.has("cpuset") ? [`cpuset ${cpusetCpus}`] : []),
  ];
}

/** Makes the cgroups of a pod; existing ones stay unchanged. */
export function makePodBounds(bounds: Bounds, sandboxId: string): void {
  const { version, parents } = bounds;
  makeFolders(bounds, podCgroup(sandboxId));
  if (version === 2)
    for (const [controller, parent] of parents) enable(join(parent, podCgroup(sandboxId)), controller);
}

/** Makes the cgroups of a container in those of its pod, before it starts. */
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
    // Empty in a new cgroup, which processes cannot enter then.
    for (const file of ["cpuset.cpus", "cpuset.mems"])
      if (readFileSync(join(folder, file), "utf8").trim() === "")
        writeFileSync(join(folder, file), readFileSync(join(dirname(folder), file)));
  }
  return folders;
}

/** Throws RuntimeError with the file and value that the kernel refuses. */
export function applyBounds({ version, parents }: Bounds, cgroup: string, resources: ResourceConfig): void {
  let waiting = settingsOf(resources, version).flatMap(([controller, file, value]) => {
    const parent = parents.get(controller);
    return parent === undefined ? [] : [{ path: join(parent, cgroup, file), value }];
  });
  // The limit of memory must not exceed that with swap, nor the quota of cpu its parent's.
  for (let round = 0; waiting.length > 0; round++) {
    const refused: { readonly path: string; readonly value: string; readonly error: Error }[] = [];
    for (const { path, value } of waiting) {
      if (!existsSync(path)) continue;
      try {
        writeFileSync(path, value);
      } catch (error) {
        refused.push({ path, value, error: error as Error });
      }
    }
    const [first] = refused;
    if (first !== undefined && (round > 0 || refused.length === waiting.length))
      throw new RuntimeError(
        "RunContainerError",
        `${first.path} does not take ${first.value}: ${first.error.message}`,
        { cause: first.error },
      );
    waiting = refused;
  }
}

export function removeBounds(folders: readonly string[]): boolean {
  return folders.map(removeCgroup).every(Boolean);
}

/** Number of OOM kills in these cgroups. */
export function oomKills(folders: readonly string[]): number {
  for (const folder of folders)
    for (const file of ["memory.oom_control", "memory.events"]) {
      const count = /^oom_kill (\d+)$/m.exec(readOr(join(folder, file)))?.[1];
      if (count !== undefined) return Number(count);
    }
  return 0;
}

/** Usage of a container; undefined if no controller counts it. */
export function statsOf(folders: readonly string[]): CgroupUsage | undefined {
  // The controllers of a hybrid machine have a folder each, and some files in several of them.
  return cgroupUsage((_, name) => folders.map((folder) => readOr(join(folder, name))).join("") || undefined);
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
