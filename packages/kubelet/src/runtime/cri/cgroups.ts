import { existsSync } from "node:fs";

/** True if the machine has only the unified hierarchy (cgroup v2). */
export function hasCgroup2(): boolean {
  return existsSync("/sys/fs/cgroup/cgroup.controllers");
}

/** Cgroup driver of a runtime, from its `RuntimeConfig`. */
export type CgroupDriver = "systemd" | "cgroupfs";

/**
 * Returns the cgroup of a pod for the runtime's driver: a path below `root`, or the name of a slice, whose
 * parts are its path. `root` is a path such as `/kubepods`; "" leaves the choice to the runtime.
 *
 * Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, CgroupName.ToSystemd and ToCgroupfs.
 */
export function podCgroup(root: string, driver: CgroupDriver, uid: string): string {
  if (root === "") return "";
  const parts = root.split("/").filter((each) => each !== "");
  if (driver === "cgroupfs") return `/${[...parts, `pod${uid}`].join("/")}`;
  return `${[...parts, `pod${uid}`].map((each) => each.replaceAll("-", "_")).join("-")}.slice`;
}
