import { existsSync } from "node:fs";

/** True where the machine has the unified hierarchy alone (cgroup v2). */
export function hasCgroup2(): boolean {
  return existsSync("/sys/fs/cgroup/cgroup.controllers");
}

/** How a runtime makes cgroups, as its `RuntimeConfig` says. */
export type CgroupDriver = "systemd" | "cgroupfs";

/**
 * The cgroup of a pod as the runtime's driver wants it: a path below `root`, or the name of a slice, whose parts say
 * where it lies. `root` is a path as `/kubepods`; "" leaves the choice to the runtime.
 *
 * Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, CgroupName.ToSystemd and ToCgroupfs.
 */
export function podCgroup(root: string, driver: CgroupDriver, uid: string): string {
  if (root === "") return "";
  const parts = root.split("/").filter((each) => each !== "");
  if (driver === "cgroupfs") return `/${[...parts, `pod${uid}`].join("/")}`;
  return `${[...parts, `pod${uid}`].map((each) => each.replaceAll("-", "_")).join("-")}.slice`;
}
