import { parseArgs } from "node:util";
import { maxPartitions } from "./profiles/gpu.ts";

/** The devices that are offered. */
export type ProfileOptions =
  | {
      readonly name: "gpu";
      readonly count: number;
      readonly partitions: number;
      readonly allowMultipleAllocations: boolean;
      readonly bindingConditions: boolean;
      readonly deviceStatus: boolean;
    }
  | { readonly name: "net"; readonly count: number }
  | { readonly name: "cpu"; readonly numaNodes: number; readonly cpusPerNumaNode: number };

/** Options of the plugin, from flags and environment. */
export interface PluginOptions {
  readonly nodeName: string;
  readonly profile: ProfileOptions;
  readonly driverName: string;
  readonly registrarDirectory: string;
  readonly pluginsDirectory: string;
  readonly cdiDirectory: string;
  readonly podUID?: string;
  readonly healthcheck?: { readonly host: string; readonly port: number };
  readonly metrics?: { readonly host: string; readonly port: number };
  /** The file of the flag. */
  readonly kubeconfig?: string;
  /** Flags and variables that are set but unused by the profile. */
  readonly ignored: readonly string[];
}

interface Setting {
  readonly help: string;
  readonly fallback: string;
  readonly profile?: ProfileOptions["name"];
  readonly isBoolean?: true;
}

/** By flag; the variable is its name in upper case. The names are those of the public example driver. */
const settings = {
  "node-name": { help: "the node whose devices are offered; required", fallback: "" },
  "device-profile": { help: "gpu, net or cpu", fallback: "gpu" },
  "driver-name": { help: "default: PROFILE.example.com", fallback: "" },
  "num-devices": { help: "number of GPUs, or of network cards", fallback: "8" },
  "gpu-partitions": {
    help: `partitions of each GPU, at most ${maxPartitions}; 0: GPUs are not divided`,
    fallback: "0",
    profile: "gpu",
  },
  "gpu-allow-multiple-allocations": {
    help: "several claims can take parts of one GPU",
    fallback: "false",
    profile: "gpu",
    isBoolean: true,
  },
  "gpu-device-status": {
    help: "write attributes of GPUs into status.devices[].data of claims",
    fallback: "false",
    profile: "gpu",
    isBoolean: true,
  },
  "binding-conditions": {
    help: "pods wait for a condition of their GPU before they are bound",
    fallback: "false",
    profile: "gpu",
    isBoolean: true,
  },
  "cpu-numa-nodes": { help: "number of NUMA nodes", fallback: "8", profile: "cpu" },
  "cpus-per-numa-node": { help: "CPUs of each NUMA node", fallback: "4", profile: "cpu" },
  "cdi-root": { help: "folder of CDI specs", fallback: "/etc/cdi" },
  "kubelet-registrar-directory-path": {
    help: "the kubelet's folder of registration sockets",
    fallback: "/var/lib/kubelet/plugins_registry",
  },
  "kubelet-plugins-directory-path": {
    help: "the kubelet's folder of plugins",
    fallback: "/var/lib/kubelet/plugins",
  },
  "healthcheck-port": { help: "port of the gRPC health check; 0: a free one; -1: none", fallback: "-1" },
  "metrics-port": { help: "port of /metrics; 0: a free one; -1: none", fallback: "-1" },
  "pod-uid": { help: "UID of the pod, for rolling updates", fallback: "" },
  kubeconfig: { help: "files; default: the service account of the pod", fallback: "" },
} as const satisfies Record<string, Setting>;
type Flag = keyof typeof settings;
const flags = Object.keys(settings) as Flag[];

const variableOf = (flag: Flag): string => flag.toUpperCase().replaceAll("-", "_");
const settingOf = (flag: Flag): Setting => settings[flag];

export const helpText = `Offers simulated devices to the kubelet by Dynamic Resource Allocation. A flag counts more than its variable.

${flags.map((flag) => `  ${`--${flag}`.padEnd(36)}${variableOf(flag)}: ${settings[flag].help}${defaultText(flag)}`).join("\n")}

With --enable-plugin=BindingConditions it is the controller of claims with binding conditions instead:
  --enable-plugin NAME                what the controller does; may be repeated
  --driver-name NAME                  whose claims (gpu.example.com)

Example: NODE_NAME=n1 dray driver example --device-profile=net --num-devices=1
`;

function defaultText(flag: Flag): string {
  const { fallback } = settings[flag];
  return fallback === "" ? "" : ` (${fallback})`;
}

/**
 * Reads flags, and the environment for missing ones. Throws an error that names the flag or variable, its
 * value and what is accepted.
 */
export function readOptions(args: readonly string[], env: NodeJS.ProcessEnv): PluginOptions {
  const { flag, given, text, source } = valuesOf(args, env);
  const nodeName = text("node-name");
  if (nodeName === "")
    throw new Error("NODE_NAME or --node-name must be the name of the node that this runs on");
  const profile = readProfile();
  const port = (flag: "healthcheck-port" | "metrics-port") => {
    const port = integer(flag, -1, 65535);
    // Pods in the host's network each have a loopback address of their own.
    return port < 0 ? undefined : { host: env["DRAY_POD_IP"] || "0.0.0.0", port };
  };
  const healthcheck = port("healthcheck-port");
  const metrics = port("metrics-port");
  const podUID = text("pod-uid");
  const kubeconfig = flag("kubeconfig");
  return {
    nodeName,
    profile,
    driverName: text("driver-name") || `${profile.name}.example.com`,
    registrarDirectory: text("kubelet-registrar-directory-path"),
    pluginsDirectory: text("kubelet-plugins-directory-path"),
    cdiDirectory: text("cdi-root"),
    ...(podUID === "" ? {} : { podUID }),
    ...(healthcheck === undefined ? {} : { healthcheck }),
    ...(metrics === undefined ? {} : { metrics }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ignored: flags.filter(isIgnored).map(source),
  };

  function readProfile(): ProfileOptions {
    const name = text("device-profile");
    switch (name) {
      case "gpu":
        return {
          name,
          count: count(),
          partitions: integer("gpu-partitions", 0, maxPartitions),
          allowMultipleAllocations: boolean("gpu-allow-multiple-allocations"),
          bindingConditions: boolean("binding-conditions"),
          deviceStatus: boolean("gpu-device-status"),
        };
      case "net":
        return { name, count: count() };
      case "cpu":
        return {
          name,
          numaNodes: integer("cpu-numa-nodes", 0, 1024),
          cpusPerNumaNode: integer("cpus-per-numa-node", 1, 1024),
        };
      default:
        throw new Error(
          `${source("device-profile")} ${JSON.stringify(name)} is not supported, supported are "gpu", "net", "cpu"`,
        );
    }
  }

  /**
   * The manifests of a driver set all variables, whatever the profile: only values other than the default
   * count.
   */
  function isIgnored(flag: Flag): boolean {
    const { profile: of, fallback, isBoolean } = settingOf(flag);
    if (of === undefined || of === profile.name || given(flag) === undefined) return false;
    return isBoolean === true ? boolean(flag) : text(flag) !== fallback;
  }

  function count(): number {
    return integer("num-devices", 0, 100_000);
  }

  function integer(flag: Flag, min: number, max: number): number {
    const value = Number(text(flag));
    if (!/^-?\d+$/.test(text(flag)) || value < min || value > max)
      refuse(flag, `an integer from ${min} to ${max}`);
    return value;
  }

  /** Upstream: strconv.ParseBool of Go. */
  function boolean(flag: Flag): boolean {
    if (/^(1|t|T|TRUE|true|True)$/.test(text(flag))) return true;
    if (/^(0|f|F|FALSE|false|False)$/.test(text(flag))) return false;
    return refuse(flag, "true or false");
  }

  function refuse(flag: Flag, accepted: string): never {
    throw new Error(`${source(flag)} ${JSON.stringify(text(flag))} must be ${accepted}`);
  }
}

function valuesOf(args: readonly string[], env: NodeJS.ProcessEnv) {
  const { values } = parseArgs({
    // A boolean flag without a value is true.
    args: args.map((arg) => {
      const flag = flags.find((one) => arg === `--${one}`);
      return flag !== undefined && settingOf(flag).isBoolean ? `${arg}=true` : arg;
    }),
    options: Object.fromEntries(flags.map((flag) => [flag, { type: "string" as const }])),
  });
  const given = (flag: Flag): string | undefined => values[flag] ?? (env[variableOf(flag)] || undefined);
  return {
    flag: (flag: Flag): string | undefined => values[flag],
    given,
    text: (flag: Flag): string => given(flag) ?? settings[flag].fallback,
    source: (flag: Flag): string => (values[flag] === undefined ? variableOf(flag) : `--${flag}`),
  };
}
