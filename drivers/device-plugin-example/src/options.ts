import { join } from "node:path";
import { parseArgs } from "node:util";

/** The flags of the program. */
export interface Options {
  readonly resource: string;
  readonly count: number;
  /** The kubelet's folder of device plugin sockets. */
  readonly directory: string;
  readonly numaNodes: number;
  /** The variable with the IDs of a container's devices. */
  readonly variable: string;
  /** A file with the IDs of unhealthy devices; undefined: all are healthy. */
  readonly unhealthyFile: string | undefined;
  /** Containers get a device node for each device. */
  readonly deviceNodes: boolean;
}

export const helpText = `Offers simulated devices to the kubelet as an extended resource.

  --resource NAME      the resource that pods ask for (example.com/device)
  --count N            how many devices (4)
  --kubelet-dir DIR    the kubelet's folder (/var/lib/kubelet)
  --device-plugins-dir DIR  its folder of sockets (device-plugins in the kubelet's folder)
  --numa-nodes N       divide the devices among so many NUMA nodes (0: they name none)
  --env NAME           the variable with the IDs of a container's devices (from the resource: EXAMPLE_COM_DEVICE)
  --unhealthy FILE     a file with the IDs of devices that are to be unhealthy, one a line; it may change
  --device-nodes       give containers a device node /dev/ID for each device, which is /dev/null
  --help

Example: device-plugin-example --resource nvidia.com/gpu --count 8 --env NVIDIA_VISIBLE_DEVICES
`;

/** Throws an error that names the flag, its value and what is accepted. Returns undefined for `--help`. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      resource: { type: "string", default: "example.com/device" },
      count: { type: "string", default: "4" },
      "kubelet-dir": { type: "string", default: "/var/lib/kubelet" },
      "device-plugins-dir": { type: "string" },
      "numa-nodes": { type: "string", default: "0" },
      env: { type: "string" },
      unhealthy: { type: "string" },
      "device-nodes": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const { resource } = values;
  const variable = values.env ?? resource.toUpperCase().replace(/[^A-Z0-9]/g, "_");
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable))
    throw new Error(
      values.env === undefined
        ? `--resource ${JSON.stringify(resource)} makes no name of a variable: name one with --env`
        : `--env ${JSON.stringify(variable)} must be the name of a variable: letters, digits and "_"`,
    );
  for (const flag of ["kubelet-dir", "device-plugins-dir"] as const)
    if (values[flag] !== undefined && !values[flag].startsWith("/"))
      throw new Error(`--${flag} ${JSON.stringify(values[flag])} must be an absolute path`);
  return {
    resource,
    count: integer("--count", values.count, 10_000),
    directory: values["device-plugins-dir"] ?? join(values["kubelet-dir"], "device-plugins"),
    numaNodes: integer("--numa-nodes", values["numa-nodes"], 1024),
    variable,
    unhealthyFile: values.unhealthy,
    deviceNodes: values["device-nodes"],
  };
}

function integer(flag: string, text: string, highest: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > highest)
    throw new Error(`${flag} ${JSON.stringify(text)} must be an integer from 0 to ${highest}`);
  return value;
}
