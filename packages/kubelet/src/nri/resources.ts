import { LinuxCPU, LinuxMemory, LinuxResources } from "@dray/rpc/nri/v1alpha1";
import type { FieldName } from "./owners.ts";

const memoryFields: readonly (readonly [keyof LinuxMemory, FieldName])[] = [
  ["limit", "MemLimit"],
  ["reservation", "MemReservation"],
  ["swap", "MemSwapLimit"],
  ["kernel", "MemKernelLimit"],
  ["kernelTcp", "MemTCPLimit"],
  ["swappiness", "MemSwappiness"],
  ["disableOomKiller", "MemDisableOomKiller"],
  ["useHierarchy", "MemUseHierarchy"],
];

const cpuFields: readonly (readonly [keyof LinuxCPU, FieldName])[] = [
  ["shares", "CPUShares"],
  ["quota", "CPUQuota"],
  ["period", "CPUPeriod"],
  ["realtimeRuntime", "CPURealtimeRuntime"],
  ["realtimePeriod", "CPURealtimePeriod"],
  ["cpus", "CPUSetCPUs"],
  ["mems", "CPUSetMems"],
];

const classFields: readonly (readonly ["blockioClass" | "rdtClass" | "pids", FieldName])[] = [
  ["blockioClass", "BlockioClass"],
  ["rdtClass", "RdtClass"],
  ["pids", "PidsLimit"],
];

/** A mutable copy. */
export function copyResources(resources: LinuxResources | undefined): LinuxResources {
  return LinuxResources.decode(LinuxResources.encode(LinuxResources.fromPartial(resources ?? {})).finish());
}

/**
 * Merges the resources that a plugin wants into each of `targets`. `claim` throws NriConflict if another
 * plugin has set the same.
 *
 * Upstream: containerd/nri, pkg/adaptation/result.go, adjustResources.
 */
export function mergeResources(
  wanted: LinuxResources,
  targets: readonly LinuxResources[],
  claim: (field: FieldName, key?: string) => void,
): void {
  for (const [key, field] of memoryFields) {
    const value = wanted.memory?.[key];
    if (value === undefined) continue;
    claim(field);
    for (const target of targets) {
      target.memory ??= LinuxMemory.fromPartial({});
      Object.assign(target.memory, { [key]: value });
    }
  }
  for (const [key, field] of cpuFields) {
    const value = wanted.cpu?.[key];
    if (value === undefined || value === "") continue;
    claim(field);
    for (const target of targets) {
      target.cpu ??= LinuxCPU.fromPartial({});
      Object.assign(target.cpu, { [key]: value });
    }
  }
  for (const [key, field] of classFields) {
    const value = wanted[key];
    if (value === undefined) continue;
    claim(field);
    for (const target of targets) Object.assign(target, { [key]: value });
  }
  for (const limit of wanted.hugepageLimits) {
    claim("HugepageLimits", limit.pageSize);
    for (const target of targets) {
      const others = target.hugepageLimits.filter(({ pageSize }) => pageSize !== limit.pageSize);
      target.hugepageLimits = [...others, limit];
    }
  }
  for (const [name, value] of Object.entries(wanted.unified)) {
    claim("CgroupsUnified", name);
    for (const target of targets) target.unified[name] = value;
  }
  for (const target of targets) target.devices = [...target.devices, ...wanted.devices];
}
