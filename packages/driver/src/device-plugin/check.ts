import { isExtendedResourceName } from "@dray/api";
import { parseQualifiedName } from "@dray/cdi";
import type { ContainerAllocateResponse, Device } from "@dray/rpc/deviceplugin/v1beta1";

/** Maximum length of a shown value, in characters. */
const maxShown = 100;

function shown(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}...` : text;
}

function wrong(path: string, value: unknown, accepted: string): TypeError {
  return new TypeError(`${path}: ${shown(value)} must be ${accepted}`);
}

/** Throws if the kubelet would refuse the name. */
export function checkName(name: unknown): asserts name is string {
  if (typeof name !== "string" || name.length > 317 || !isExtendedResourceName(name))
    throw wrong(
      "name of the device plugin",
      name,
      "the name of an extended resource, DOMAIN/NAME as in example.com/lamp, of a domain other than kubernetes.io",
    );
}

/** Value that a plugin yielded, in the kubelet's form. Throws with the path and the value that is wrong. */
export function checkDevices(value: unknown): Device[] {
  const seen = new Set<string>();
  return list("devices", value).map((one, index) => {
    const at = `devices[${index}]`;
    const { id, health = "Healthy", numaNodes = [] } = object(at, one);
    if (typeof id !== "string" || id === "") throw wrong(`${at}.id`, id, "a text that is not empty");
    if (seen.has(id)) throw wrong(`${at}.id`, id, "unique among the devices");
    seen.add(id);
    if (health !== "Healthy" && health !== "Unhealthy")
      throw wrong(`${at}.health`, health, '"Healthy" or "Unhealthy"');
    const nodes = list(`${at}.numaNodes`, numaNodes).map((node, place) => {
      if (typeof node !== "number" || !Number.isSafeInteger(node) || node < 0)
        throw wrong(`${at}.numaNodes[${place}]`, node, "the number of a NUMA node, from 0");
      return { ID: node };
    });
    return { ID: id, health, topology: nodes.length > 0 ? { nodes } : undefined };
  });
}

/** Result of `allocate`, in the kubelet's form. Throws with the path and the value that is wrong. */
export function checkAllocated(value: unknown): ContainerAllocateResponse {
  const {
    env = {},
    mounts = [],
    devices = [],
    annotations = {},
    cdiDevices = [],
  } = object("allocate", value);
  return {
    envs: texts("env", env, (name) => name !== "" && !/[=\0]/.test(name)),
    mounts: list("mounts", mounts).map((one, index) => {
      const at = `mounts[${index}]`;
      const { hostPath, containerPath, readOnly = false } = object(at, one);
      if (typeof readOnly !== "boolean") throw wrong(`${at}.readOnly`, readOnly, "true or false");
      return {
        hostPath: path(`${at}.hostPath`, hostPath),
        containerPath: path(`${at}.containerPath`, containerPath),
        readOnly,
      };
    }),
    devices: list("devices", devices).map((one, index) => {
      const at = `devices[${index}]`;
      const { hostPath, containerPath = hostPath, permissions = "rw" } = object(at, one);
      if (typeof permissions !== "string" || !/^[rwm]{1,3}$/.test(permissions))
        throw wrong(`${at}.permissions`, permissions, "letters of rwm");
      return {
        hostPath: path(`${at}.hostPath`, hostPath),
        containerPath: path(`${at}.containerPath`, containerPath),
        permissions,
      };
    }),
    annotations: texts("annotations", annotations, (name) => name !== ""),
    cdiDevices: list("cdiDevices", cdiDevices).map((one, index) => {
      const name = text(`cdiDevices[${index}]`, one);
      parseQualifiedName(name);
      return { name };
    }),
  };
}

/** Result of `preferred`. */
export function checkPreferred(value: unknown): string[] {
  return list("preferred", value).map((one, index) => text(`preferred[${index}]`, one));
}

function object(at: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong(at, value, "an object");
  return value as Record<string, unknown>;
}

function list(at: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(at, value, "a list");
  return value;
}

function text(at: string, value: unknown): string {
  if (typeof value !== "string") throw wrong(at, value, "a text");
  return value;
}

function path(at: string, value: unknown): string {
  if (typeof value !== "string" || !value.startsWith("/") || value.includes("\0"))
    throw wrong(at, value, "an absolute path");
  return value;
}

function texts(at: string, value: unknown, isName: (name: string) => boolean): Record<string, string> {
  const entries = Object.entries(object(at, value));
  for (const [name] of entries)
    if (!isName(name)) throw wrong(`a name in ${at}`, name, "not empty, and without '='");
  return Object.fromEntries(entries.map(([name, one]) => [name, text(`${at}.${name}`, one)]));
}
