import { parseArgs } from "node:util";
import type { Client, Clock, Log } from "@dray/client";
import { setBindingConditions } from "@dray/driver";

/** Functions of the controller; names as in the public example driver. */
const plugins = ["BindingConditions"] as const;
type Plugin = (typeof plugins)[number];

export interface ControllerOptions {
  /** The driver of the claims. */
  readonly driverName: string;
  readonly plugins: readonly Plugin[];
  /** The file of the flag. */
  readonly kubeconfig?: string;
}

/**
 * Returns undefined if the flags are not those of the controller. Throws an error that names the flag and
 * what is accepted.
 */
export function readControllerOptions(args: readonly string[]): ControllerOptions | undefined {
  if (!args.some((arg) => /^--enable-plugin(=|$)/.test(arg))) return undefined;
  const { values } = parseArgs({
    args: [...args],
    options: {
      "enable-plugin": { type: "string", multiple: true, default: [] },
      "driver-name": { type: "string", default: "gpu.example.com" },
      kubeconfig: { type: "string" },
    },
  });
  const names = values["enable-plugin"].flatMap((text) => text.split(",").map((name) => name.trim()));
  const { kubeconfig } = values;
  return {
    driverName: values["driver-name"],
    plugins: [...new Set(names.filter((name) => name !== "").map(pluginOf))],
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  };
}

function pluginOf(name: string): Plugin {
  const found = plugins.find((one) => one === name);
  if (found === undefined)
    throw new Error(
      `--enable-plugin ${JSON.stringify(name)} is not supported, supported is ${plugins.join()}`,
    );
  return found;
}

/**
 * Runs the controller of the driver until the signal aborts. BindingConditions: a simulated GPU is always
 * ready, so it sets all binding conditions of allocated GPUs to True, and their pods can be bound (KEP-5007).
 */
export async function runController(
  { driverName, plugins }: ControllerOptions,
  context: {
    readonly client: Client;
    readonly clock: Clock;
    readonly log: Log;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  if (!plugins.includes("BindingConditions")) return;
  await setBindingConditions({
    ...context,
    name: driverName,
    async decide(claim, { device }) {
      const { namespace, name } = claim.metadata;
      context.log.info({ claim: `${namespace}/${name}`, device }, "The device is ready");
      return { state: "Ready" };
    },
  });
}
