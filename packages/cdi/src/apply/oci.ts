import {
  CdiError,
  type ContainerEdits,
  type DeviceNode,
  type HookName,
  type IntelRdt,
} from "../spec/spec.ts";
import { applyEnv, applyMounts } from "./edits.ts";
import type { HostDevice } from "./host-device.ts";

/** The parts of an OCI runtime configuration (`config.json`) that CDI changes; the others are kept. */
export interface OciConfig {
  readonly process?: {
    readonly env?: readonly string[];
    readonly user?: {
      readonly uid?: number;
      readonly gid?: number;
      readonly additionalGids?: readonly number[];
    };
  };
  readonly mounts?: readonly OciMount[];
  readonly hooks?: { readonly [H in HookName]?: readonly OciHook[] };
  readonly linux?: {
    readonly devices?: readonly OciDevice[];
    readonly netDevices?: Readonly<Record<string, { readonly name?: string }>>;
    readonly intelRdt?: IntelRdt;
    readonly resources?: { readonly devices?: readonly OciDeviceRule[] };
  };
}

export interface OciMount {
  readonly destination: string;
  readonly source?: string;
  readonly type?: string;
  readonly options?: readonly string[];
}

export interface OciHook {
  readonly path: string;
  readonly args?: readonly string[];
  readonly env?: readonly string[];
  readonly timeout?: number;
}

export interface OciDevice {
  readonly path: string;
  readonly type: string;
  readonly major: number;
  readonly minor: number;
  readonly fileMode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface OciDeviceRule {
  readonly allow: boolean;
  readonly type?: string;
  readonly major?: number;
  readonly minor?: number;
  readonly access?: string;
}

/**
 * Returns the configuration with the edits applied; `config` is unchanged. `lookUp` reads the properties of a
 * device node that the spec leaves out. Throws a CdiError if the host's type differs from the spec's.
 */
export function applyToOciConfig<C extends OciConfig>(
  config: C,
  edits: ContainerEdits,
  lookUp: (hostPath: string) => HostDevice,
): C {
  const result: { -readonly [K in keyof OciConfig]: OciConfig[K] } = { ...config };
  const changeProcess = (change: OciConfig["process"]): void => {
    result.process = { ...result.process, ...change };
  };
  const changeLinux = (change: OciConfig["linux"]): void => {
    result.linux = { ...result.linux, ...change };
  };

  if (edits.env?.length) changeProcess({ env: applyEnv(result.process?.env ?? [], edits.env) });
  for (const node of edits.deviceNodes ?? []) {
    const device = ociDevice(node, result.process?.user, lookUp);
    const others = (result.linux?.devices ?? []).filter(({ path }) => path !== device.path);
    changeLinux({ devices: [...others, device] });
    if (device.type === "b" || device.type === "c") {
      const { resources } = result.linux ?? {};
      const { type, major, minor } = device;
      const access = node.permissions === "none" ? "" : node.permissions || "rwm";
      const rule = { allow: true, type, major, minor, ...(access === "" ? {} : { access }) };
      changeLinux({ resources: { ...resources, devices: [...(resources?.devices ?? []), rule] } });
    }
  }
  for (const { hostInterfaceName, name } of edits.netDevices ?? []) {
    changeLinux({ netDevices: { ...result.linux?.netDevices, [hostInterfaceName]: { name } } });
  }
  if (edits.mounts?.length) {
    result.mounts = applyMounts<OciMount>(
      result.mounts ?? [],
      edits.mounts,
      (mount) => mount.destination,
      ({ hostPath, containerPath, type, options }) => ({
        destination: containerPath,
        ...(type ? { type } : {}),
        source: hostPath,
        ...(options?.length ? { options } : {}),
      }),
    );
  }
  for (const { hookName, ...hook } of edits.hooks ?? []) {
    result.hooks = { ...result.hooks, [hookName]: [...(result.hooks?.[hookName] ?? []), hook] };
  }
  if (edits.intelRdt !== undefined) changeLinux({ intelRdt: edits.intelRdt });
  if (edits.additionalGids?.length) {
    const { user } = result.process ?? {};
    const gids = [...(user?.additionalGids ?? []), ...edits.additionalGids.filter((gid) => gid !== 0)];
    changeProcess({ user: { ...user, additionalGids: [...new Set(gids)] } });
  }
  return result as C;
}

type User = NonNullable<OciConfig["process"]>["user"];

function ociDevice(node: DeviceNode, user: User, lookUp: (hostPath: string) => HostDevice): OciDevice {
  const { path, hostPath = path, uid = user?.uid, gid = user?.gid } = node;
  const owner = {
    // The owner is the container's user, never the host's: otherwise a user that is not root could not open
    // it.
    ...(uid !== undefined && (node.uid !== undefined || uid > 0) ? { uid } : {}),
    ...(gid !== undefined && (node.gid !== undefined || gid > 0) ? { gid } : {}),
  };
  const mode = node.fileMode === undefined ? {} : { fileMode: node.fileMode };
  if (node.type && (node.major || node.type === "p")) {
    return { path, type: node.type, major: node.major ?? 0, minor: node.minor ?? 0, ...mode, ...owner };
  }
  const host = lookUp(hostPath || path);
  if (node.type && node.type !== host.type) {
    throw new CdiError(
      `device node ${path}: its type is ${node.type}, on the host ${hostPath} is of type ${host.type}`,
    );
  }
  const numbers = node.major || host.type === "p" ? { major: node.major ?? 0, minor: node.minor ?? 0 } : host;
  return {
    path,
    type: host.type,
    major: numbers.major,
    minor: numbers.minor,
    fileMode: node.fileMode ?? host.fileMode,
    ...owner,
  };
}
