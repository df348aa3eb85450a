import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { hostDevice } from "@dray/cdi";
import type { ContainerConfig, DeviceConfig } from "../config.ts";
import type { SpecDevice } from "./spec.ts";

/** Folders of /dev without devices of the machine, or with those of another container. */
const foreign = new Set(["pts", "shm", "fd", "mqueue", "console", ".lxc", ".lxd-mounts", ".udev"]);

/**
 * All devices of the machine for a privileged container; for another the ones that it names, in folders too.
 */
export function devicesOf({ security, devices }: ContainerConfig): readonly SpecDevice[] {
  const all = (hostPath: string, path: string, permissions: string): SpecDevice[] => {
    const stats = lstatSync(hostPath);
    if (!stats.isDirectory()) {
      const isDevice = stats.isCharacterDevice() || stats.isBlockDevice();
      return isDevice ? [{ ...hostDevice(hostPath), path, permissions }] : [];
    }
    return readdirSync(hostPath)
      .filter((name) => !foreign.has(name))
      .flatMap((name) => all(join(hostPath, name), join(path, name), permissions));
  };
  const named = ({ hostPath, containerPath, permissions }: DeviceConfig): SpecDevice[] => {
    const found = statSync(hostPath).isDirectory()
      ? all(hostPath, containerPath, permissions)
      : [{ ...hostDevice(hostPath), path: containerPath, permissions }];
    return found;
  };
  const own = devices.flatMap(named);
  if (!security.privileged) return own;
  const taken = new Set(own.map(({ path }) => path));
  return [...all("/dev", "/dev", "rwm").filter(({ path }) => !taken.has(path)), ...own];
}
