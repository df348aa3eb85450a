import { parseQualifiedName } from "@dray/cdi";
import { ContainerAllocateResponse } from "@dray/rpc/deviceplugin/v1beta1";
import { shortened } from "../base/text.ts";
import type { DeviceConfig, MountConfig } from "../runtime/config.ts";

/**
 * Maximum size of a plugin's response for one container in bytes, since it is kept and goes into every start.
 */
const maxBytes = 256 << 10;
/** Maximum length of a path in bytes (PATH_MAX of Linux). */
const maxPath = 4095;

/** Throws, with the field and its value, if a response to Allocate is too large or unusable for a runtime. */
export function checkResponse(response: ContainerAllocateResponse): void {
  const refuse = (field: string, value: string, accepted: string): never => {
    throw new Error(
      `the device plugin's response is invalid: ${field}: ${JSON.stringify(shortened(value, 200))} ${accepted}`,
    );
  };
  const path = (field: string, value: string): void => {
    if (!value.startsWith("/") || value.includes("\0") || Buffer.byteLength(value) > maxPath)
      refuse(field, value, `must be an absolute path of at most ${maxPath} bytes`);
  };
  const { length } = ContainerAllocateResponse.encode(response).finish();
  if (length > maxBytes)
    throw new Error(`the device plugin's response has ${length} bytes, more than ${maxBytes}`);
  for (const [name, value] of Object.entries(response.envs)) {
    if (name === "" || /[=\0]/.test(name))
      refuse("envs", name, "must be the name of an environment variable, without '='");
    if (value.includes("\0")) refuse(`envs[${name}]`, value, "must not contain a zero byte");
  }
  for (const [index, { containerPath, hostPath }] of response.mounts.entries()) {
    path(`mounts[${index}].container_path`, containerPath);
    path(`mounts[${index}].host_path`, hostPath);
  }
  for (const [index, { containerPath, hostPath, permissions }] of response.devices.entries()) {
    path(`devices[${index}].container_path`, containerPath);
    path(`devices[${index}].host_path`, hostPath);
    if (!/^[rwm]{0,3}$/.test(permissions))
      refuse(`devices[${index}].permissions`, permissions, "must consist of the letters r, w and m");
  }
  for (const [index, { name }] of response.cdiDevices.entries())
    try {
      parseQualifiedName(name);
    } catch {
      refuse(`cdi_devices[${index}].name`, name, "must be a qualified CDI name, vendor/class=device");
    }
}

/** Options of a container from the devices that it holds. */
export interface DeviceOptions {
  /** In order; the container's own environment overrides it. */
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly mounts: readonly MountConfig[];
  readonly devices: readonly DeviceConfig[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly string[];
}

/**
 * Merges the responses of all resources of a container in the given order. If two name the same variable,
 * path in the container or annotation, the first one counts, and `conflict` is called if they differ.
 *
 * Upstream: pkg/kubelet/cm/devicemanager/pod_devices.go, deviceRunContainerOptions.
 */
export function mergeResponses(
  responses: Iterable<ContainerAllocateResponse>,
  onMachine: (path: string) => string,
  conflict: (what: string, key: string, kept: string, left: string) => void,
): DeviceOptions {
  const env = new Map<string, string>();
  const mounts = new Map<string, MountConfig>();
  const devices = new Map<string, DeviceConfig>();
  const annotations = new Map<string, string>();
  const cdiDevices = new Set<string>();
  for (const response of responses) {
    for (const [name, value] of Object.entries(response.envs)) {
      const kept = env.get(name);
      if (kept === undefined) env.set(name, value);
      else if (kept !== value) conflict("environment variable", name, kept, value);
    }
    for (const { containerPath, hostPath, permissions } of response.devices) {
      const place = onMachine(hostPath);
      const kept = devices.get(containerPath);
      // The default of runc and Docker for a device without permissions.
      if (kept === undefined)
        devices.set(containerPath, { hostPath: place, containerPath, permissions: permissions || "rwm" });
      else if (kept.hostPath !== place) conflict("device", containerPath, kept.hostPath, place);
    }
    for (const { containerPath, hostPath, readOnly } of response.mounts) {
      const place = onMachine(hostPath);
      const kept = mounts.get(containerPath);
      if (kept === undefined) mounts.set(containerPath, { hostPath: place, containerPath, readOnly });
      else if (kept.hostPath !== place) conflict("mount", containerPath, kept.hostPath, place);
    }
    for (const [key, value] of Object.entries(response.annotations)) {
      const kept = annotations.get(key);
      if (kept === undefined) annotations.set(key, value);
      else if (kept !== value) conflict("annotation", key, kept, value);
    }
    for (const { name } of response.cdiDevices) cdiDevices.add(name);
  }
  return {
    env: [...env],
    mounts: [...mounts.values()],
    devices: [...devices.values()],
    annotations: Object.fromEntries(annotations),
    cdiDevices: [...cdiDevices],
  };
}
