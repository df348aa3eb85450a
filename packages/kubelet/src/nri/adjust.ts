import type { ContainerAdjustment, LinuxDevice, Mount } from "@dray/rpc/nri/v1alpha1";
import type { ContainerConfig, DeviceConfig, MountConfig } from "../runtime/config.ts";
import { resourceConfig } from "./convert.ts";
import { isRemoval } from "./keyed.ts";

/** A configuration with the changes of plugins, and the changes that runtimes of the agent do not support. */
export interface AdjustedConfig {
  readonly config: ContainerConfig;
  readonly unsupported: readonly string[];
}

/**
 * Applies an adjustment to the configuration of a container.
 *
 * Upstream: containerd/nri, pkg/runtime-tools/generate/generate.go.
 */
export function adjustedConfig(config: ContainerConfig, adjust: ContainerAdjustment): AdjustedConfig {
  const { linux } = adjust;
  const { resources, unsupported } = resourceConfig(linux?.resources);
  const [mounts, strangeMounts] = adjustMounts(config.mounts, adjust.mounts);
  const [devices, strangeDevices] = adjustDevices(config.devices, linux?.devices ?? []);
  const score = linux?.oomScoreAdj;
  const others: Record<string, unknown> = {
    hooks: adjust.hooks,
    rlimits: adjust.rlimits[0],
    cgroupsPath: linux?.cgroupsPath || undefined,
    ioPriority: linux?.ioPriority,
    seccompPolicy: linux?.seccompPolicy,
    namespaces: linux?.namespaces[0],
    sysctl: Object.keys(linux?.sysctl ?? {})[0],
    netDevices: Object.keys(linux?.netDevices ?? {})[0],
    scheduler: linux?.scheduler,
    rdt: linux?.rdt,
    memoryPolicy: linux?.memoryPolicy,
  };
  const missing = [
    ...unsupported,
    ...strangeMounts,
    ...strangeDevices,
    ...Object.keys(others).filter((name) => others[name] !== undefined),
  ];
  return {
    config: {
      ...config,
      annotations: adjustEntries(config.annotations, adjust.annotations),
      // A new command line needs no program of the image.
      ...(adjust.args.length > 0 && { command: adjust.args.slice(0, 1), args: adjust.args.slice(1) }),
      env: adjustEnv(config.env, adjust.env),
      mounts,
      devices,
      cdiDevices: [...config.cdiDevices, ...adjust.CDIDevices.map(({ name }) => name)],
      resources: {
        ...config.resources,
        ...resources,
        ...(score !== undefined && { oomScoreAdj: Number(score.value) }),
      },
    },
    unsupported: missing.map((what) => `${what} of NRI plugins`),
  };
}

function adjustEntries(
  before: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string>>,
): Record<string, string> {
  const after = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(changes)) {
    if (isRemoval(key)) after.delete(key.slice(1));
    else after.set(key, value);
  }
  return Object.fromEntries(after);
}

function adjustEnv(
  before: ContainerConfig["env"],
  changes: readonly { readonly key: string; readonly value: string }[],
): ContainerConfig["env"] {
  const after = new Map(before);
  for (const { key, value } of changes) {
    if (isRemoval(key)) after.delete(key.slice(1));
    else after.set(key, value);
  }
  return [...after];
}

function adjustMounts(before: readonly MountConfig[], changes: readonly Mount[]): [MountConfig[], string[]] {
  const after = new Map(before.map((mount) => [mount.containerPath, mount]));
  const unsupported: string[] = [];
  for (const { destination, source, type, options } of changes) {
    if (isRemoval(destination)) {
      after.delete(destination.slice(1));
      continue;
    }
    const isBind = type === "bind" || options.some((option) => option === "bind" || option === "rbind");
    if (!isBind) {
      unsupported.push(`mount ${destination} of type ${type}`);
      continue;
    }
    const has = (...names: string[]): boolean => names.some((name) => options.includes(name));
    const propagation = has("rshared", "shared")
      ? "bidirectional"
      : has("rslave", "slave")
        ? "hostToContainer"
        : "private";
    // The last mount at a path is the visible one.
    after.delete(destination);
    after.set(destination, {
      hostPath: source,
      containerPath: destination,
      readOnly: has("ro", "rro"),
      ...(has("rro") && { recursiveReadOnly: true }),
      propagation,
    });
  }
  return [[...after.values()], unsupported];
}

/** NRI identifies devices by number, CRI by a node of the machine: the same path identifies them here. */
function adjustDevices(
  before: readonly DeviceConfig[],
  changes: readonly LinuxDevice[],
): [DeviceConfig[], string[]] {
  const after = new Map(before.map((device) => [device.containerPath, device]));
  const unsupported: string[] = [];
  for (const { path, type } of changes) {
    if (isRemoval(path)) after.delete(path.slice(1));
    else if (type === "b" || type === "c" || type === "u")
      after.set(path, { hostPath: path, containerPath: path, permissions: "rwm" });
    else unsupported.push(`device ${path} of type ${type}`);
  }
  return [[...after.values()], unsupported];
}
