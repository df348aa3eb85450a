import {
  type AddedContext,
  addToKubeconfigs,
  askControl,
  type ClusterConfig,
  checkKubeconfigs,
  kubeconfigFiles,
  type Layout,
  readConfig,
} from "@dray/cluster";
import type { ChosenDriver } from "../../drivers/drivers.ts";
import { installDrivers } from "../../drivers/install-all.ts";
import { keptText } from "../../fleet/file.ts";
import { commandText, type Target } from "../../options/target.ts";
import { UsageError } from "../../terminal/failure.ts";
import { remark, say } from "../../terminal/verbosity.ts";
import { shellWord } from "../../text/shell.ts";
import type { Configured } from "./configure.ts";
import type { UpOptions } from "./options.ts";
import { printCluster, printStatus } from "./print.ts";
import { driverLines } from "./summary.ts";

/** Settings that cannot change while a cluster runs, by flag. */
const fixed = {
  "--port": "port",
  "--bind-address": "bindAddress",
  "--advertise-address": "advertiseAddress",
  "--store": "store",
  "--kubernetes-version": "kubernetesVersion",
  "--feature-gates": "featureGates",
  "--runtime-config": "runtimeConfig",
  "--enable-admission-plugins": "enabledAdmissionPlugins",
  "--runtime": "runtime",
  "--registry-hosts": "registryHosts",
  "--host-network": "hostNetwork",
  "--allowed-unsafe-sysctls": "allowedUnsafeSysctls",
  "--image": "images",
  "--simulated-nodes": "simulatedNodes",
  "--scheduler-config": "schedulerConfig",
} as const satisfies Readonly<Record<string, keyof ClusterConfig>>;

/**
 * Applies the flags of `up` to a running cluster: other nodes, another kubeconfig, drivers. Refuses all other
 * changes; without any it says where the cluster is, so that `up` can be repeated.
 */
export async function changeRunning(
  chosen: Target,
  pid: number,
  options: UpOptions,
  { config, fleet, drivers }: Configured & { readonly drivers: readonly ChosenDriver[] },
): Promise<void> {
  const { layout } = chosen;
  const before = readConfig(layout);
  if (
    options.fleet !== undefined &&
    (before?.fleet === undefined ? undefined : keptText(layout)) !== fleet?.text
  )
    throw new UsageError(
      `--fleet ${options.fleet}: the cluster in ${layout.dataDir} runs with ${before?.fleet === undefined ? "no fleet" : `${before.fleet} as it was`} (process ${pid}): stop it with ${commandText(layout, "down")} first`,
    );
  for (const [flag, name] of Object.entries(fixed)) {
    // Port 0 accepts any port.
    if (name === "port" && config.port === 0) continue;
    if (before !== undefined && JSON.stringify(config[name]) !== JSON.stringify(before[name]))
      throw new UsageError(
        `${flag}: the cluster in ${layout.dataDir} runs with ${valueText(before[name])} (process ${pid}): stop it with ${commandText(layout, "down")} first`,
      );
  }
  // With -o, standard output has the data only.
  const tell = options.output === undefined ? say : remark;
  const added =
    options.kubeconfig === undefined ? undefined : await addContext(layout, config.name, options.kubeconfig);
  if (added !== undefined)
    tell(`context ${added.context} is in ${shellWord(added.file)}, and current there\n`);
  if (options.nodes !== undefined) tell(`${await changeNodes(layout, config.nodes.length)}\n`);
  await installDrivers(layout, config.name, drivers);
  if (options.output !== undefined) await printCluster(chosen, added, options.output);
  else if (drivers.length > 0) say(`${driverLines(drivers).join("\n")}\n`);
  else if (added === undefined && config.nodes.length === before?.nodes.length) await printStatus(chosen);
}

/** Returns a setting as text; the path of a file, as the cluster has it. */
function valueText(value: ClusterConfig[keyof ClusterConfig]): string {
  if (value === undefined) return "none";
  return typeof value === "object" && "path" in value ? `${value.path} as it was` : JSON.stringify(value);
}

async function addContext(layout: Layout, name: string, flag: string): Promise<AddedContext | undefined> {
  const files = kubeconfigFiles(flag, layout);
  await checkKubeconfigs(layout, name, files);
  return addToKubeconfigs(layout, name, files);
}

/** Resolves to a description of the change. */
async function changeNodes(layout: Layout, nodes: number): Promise<string> {
  const stop = new AbortController();
  const giveUp = (): void => stop.abort(new Error("interrupted: the nodes are as before"));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, giveUp);
  try {
    const tell = (line: string): void => remark(`${line}\n`);
    return await askControl(layout.controlSocket, { nodes }, tell, stop.signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ECONNREFUSED") throw error;
    throw new Error(
      `the cluster in ${layout.dataDir} is still starting, or stops: try again, and see ${commandText(layout, "status")}`,
    );
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, giveUp);
  }
}
