import { join, relative } from "node:path";
import {
  type AddedContext,
  type ClusterConfig,
  isLoopback,
  isUsedByDefault,
  type Layout,
  namesText,
  serverAddresses,
  urlHost,
} from "@dray/cluster";
import type { ChosenDriver } from "../../drivers/drivers.ts";
import { examplesFolder } from "../../drivers/examples.ts";
import { type FleetFile, fleetText } from "../../fleet/file.ts";
import { simulatedNodes } from "../../fleet/simulated-nodes.ts";
import { commandText } from "../../options/target.ts";
import { shellWord } from "../../text/shell.ts";
import type { Started } from "./detached.ts";

export interface SummaryParts {
  /** The requested kubeconfig. */
  readonly added?: AddedContext;
  /** The installed drivers. */
  readonly drivers?: readonly ChosenDriver[];
  /** The cluster has classes already. */
  readonly hasDeviceClasses?: boolean;
  readonly fleet?: FleetFile;
}

/** Returns the summary for the user of a running cluster. */
export function clusterSummary(
  layout: Layout,
  { config, url }: Pick<Started, "config" | "url">,
  { added, drivers = [], hasDeviceClasses = false, fleet }: SummaryParts = {},
): string {
  const simulated = simulatedNodes(config, fleet?.fleet).map(({ name }) => name);
  const hasOnlySimulated = config.nodes.length === 0 && simulated.length > 0;
  const nodes = config.nodes.length === 0 ? "none" : namesText(config.nodes);
  const file = added?.file ?? layout.kubeconfig;
  const others = urlForOthers(config);
  return [
    `Kubernetes ${config.kubernetesVersion} is ready at ${url}`,
    ...(others === undefined || others === url ? [] : [`  for others  ${others}`]),
    ...(hasOnlySimulated ? [] : [`  nodes       ${nodes}`]),
    ...(simulated.length === 0
      ? []
      : [`  simulated   ${namesText(simulated)}: their pods run no containers`]),
    ...(fleet === undefined ? [] : [`  fleet       ${shellWord(fleet.path)}: ${fleetText(fleet.fleet)}`]),
    `  data        ${shellWord(layout.dataDir)}`,
    `  kubeconfig  ${shellWord(file)}${added === undefined ? "" : `, current context ${added.context}`}`,
    "",
    "Use it:",
    ...(isUsedByDefault(file) ? [] : [`  export KUBECONFIG=${shellWord(file)}`]),
    "  kubectl get nodes",
    ...(fleet === undefined ? [] : ["  kubectl get resourceslices,deviceclasses", ...deviceCommands(layout)]),
    "",
    ...(drivers.length > 0 ? [...driverLines(drivers), ""] : []),
    ...(drivers.length > 0 || hasDeviceClasses || fleet !== undefined || hasOnlySimulated
      ? []
      : [
          `${commandText(layout, "up", "--driver example")} adds simulated GPUs, to a cluster that runs, too.`,
          "",
        ]),
  ].join("\n");
}

/** Returns commands for the devices of a fleet. */
function deviceCommands(layout: Layout): string[] {
  return [commandText(layout, "device list")].map((text) => `  ${text.replaceAll("`", "")}`);
}

/** Returns the URL of the API server for other machines; undefined if only this machine can reach it. */
function urlForOthers({ bindAddress, advertiseAddress, port }: ClusterConfig): string | undefined {
  const { advertised } = serverAddresses({ bind: bindAddress, advertise: advertiseAddress || undefined });
  return isLoopback(advertised) ? undefined : `https://${urlHost(advertised)}:${port}`;
}

/** Lists the objects that drivers have added, and the commands that show them. */
export function driverLines(drivers: readonly ChosenDriver[]): string[] {
  return drivers.flatMap(({ name, installation }) => {
    const { offers, deviceCount, example } = installation;
    const folder = join(examplesFolder(), ...example);
    const short = relative(process.cwd(), folder);
    const commands = installation.commands(shellWord(short.startsWith("..") ? folder : short));
    return [
      `Driver ${name} is installed: ${deviceCount} devices of ${offers} on each node. A pod with one of them:`,
      ...commands.map((command) => `  ${command}`),
    ];
  });
}
